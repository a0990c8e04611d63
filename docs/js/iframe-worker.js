// Lets the search of pages that are opened as files work: browsers allow such pages no worker, so that its script runs in
// a hidden frame of the page, and messages pass as a worker's would. Pages that are served keep the browser's Worker.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      inside.postMessage = data => this.send("message", data, this);
      const script = inside.document.createElement("script");
      script.src = new URL(url, document.baseURI).href;
      // Messages wait until the script listens.
      this.loaded = new Promise(resolve => (script.onload = resolve));
      script.onerror = () => this.send("error", undefined, this);
      inside.document.body.append(script);
    }

    postMessage(data) {
      const copy = structuredClone(data);
      this.loaded.then(() => this.send("message", copy, this.frame.contentWindow));
    }

    // As between threads, the receiver gets a copy, later: each side changes what it holds.
    send(kind, data, receiver) {
      const event = new MessageEvent(kind, {data: structuredClone(data), cancelable: true});
      setTimeout(() => {
        if (receiver === this) this["on" + kind]?.(event);
        receiver?.dispatchEvent(event);
      });
    }

    terminate() {
      this.frame.remove();
    }
  };
}
