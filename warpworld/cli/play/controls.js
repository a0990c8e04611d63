// Keys and buttons of the played agent: what is held, what was pressed since the last step, and the choices that follow.

const KEY_NAMES = { ArrowLeft: "left", ArrowRight: "right", ArrowUp: "up", ArrowDown: "down", " ": "space" };
const SIGNS = { left: "←", right: "→", up: "↑", down: "↓" };
const PLACES = { up: "up", down: "down", left: "left", right: "right", space: "middle", q: "q", e: "e" };
Object.assign(PLACES, { w: "up", s: "down", a: "left", d: "right" });
const MOST_IN_PAD = 8; // choices
const ARROWS = [["up", "down"], ["left", "right"], ["w", "s"], ["a", "d"]]; // heads with such a pair are a pad

class Controls {
  constructor(heads, root, pressed) {
    this.heads = heads;
    this.pressed = pressed; // is called when something is pressed
    this.number = 0;
    this.down = new Map(); // what is held, with the number of its press: names of keys, and "head:choice" of buttons
    this.recent = new Map(); // what was pressed since the last step, likewise
    this.known = new Set(heads.flatMap((head) => head.keys.flat()));
    this.buttons = heads.map((head, h) => this.build(head, h, root));
    document.addEventListener("keydown", (event) => this.key(event, true));
    document.addEventListener("keyup", (event) => this.key(event, false));
    window.addEventListener("blur", () => this.release());
  }

  build(head, h, root) {
    const group = part("div", "head", root);
    const few = head.keys.filter((keys) => keys.length).length <= MOST_IN_PAD;
    const isPad = few && ARROWS.some((pair) => pair.every((key) => head.keys.some((keys) => keys.join() === key)));
    group.classList.toggle("pad", isPad);
    const shown = head.keys.some((keys) => keys.length) ? (choice) => head.keys[choice].length : () => true;
    return head.names.map((name, choice) => {
      if (!shown(choice)) return null;
      const button = part("button", "", group, name);
      button.type = "button";
      const keys = head.keys[choice];
      if (keys.length) part("kbd", "", button, keys.map((key) => SIGNS[key] ?? key).join(" "));
      if (isPad && keys.length === 1 && keys[0] in PLACES) button.classList.add(`place-${PLACES[keys[0]]}`);
      const id = `${h}:${choice}`;
      button.addEventListener("pointerdown", (event) => {
        button.releasePointerCapture?.(event.pointerId);
        this.press(id);
      });
      for (const end of ["pointerup", "pointercancel", "pointerleave"]) {
        button.addEventListener(end, () => this.lift(id));
      }
      button.addEventListener("click", (event) => event.detail === 0 && this.tap(h, choice)); // by Enter or space
      button.addEventListener("contextmenu", (event) => event.preventDefault());
      return button;
    });
  }

  key(event, isDown) {
    const name = KEY_NAMES[event.key] ?? event.key.toLowerCase();
    if (!this.known.has(name) || event.ctrlKey || event.metaKey || event.altKey) return;
    if (isDown && event.target.closest("select, input, a")) return;
    event.preventDefault();
    if (!isDown) this.lift(name);
    else if (!event.repeat) this.press(name);
  }

  press(id) {
    this.down.set(id, ++this.number);
    this.recent.set(id, this.number);
    this.mark();
    this.pressed();
  }

  tap(head, choice) {
    this.recent.set(`${head}:${choice}`, ++this.number);
    this.pressed();
  }

  lift(id) {
    this.down.delete(id);
    this.mark();
  }

  // Nothing counts as held any more, until it is pressed again.
  release() {
    this.down.clear();
    this.recent.clear();
    this.mark();
  }

  // The choice of each head; null where the game waits for one.
  choices(legal) {
    const presses = new Map([...this.recent, ...this.down]);
    return this.heads.map((head, h) => {
      const allowed = head.names.flatMap((_, choice) => (legal[h][choice] ? [choice] : []));
      if (allowed.length < 2) return allowed[0] ?? 0;
      const wanted = allowed.map((choice) => [this.force(head, h, choice, presses), choice]);
      const [force, choice] = wanted.reduce((best, each) => (each[0] > best[0] ? each : best));
      if (force > 0) return choice;
      return (head.rests ? allowed.find((each) => !head.keys[each].length) : null) ?? null;
    });
  }

  // Above 0 for a choice that is pressed: more keys count more than fewer, then later presses than earlier ones.
  force(head, h, choice, presses) {
    const button = presses.get(`${h}:${choice}`);
    if (button) return 100 + button / (this.number + 1);
    const keys = head.keys[choice];
    const numbers = keys.map((key) => presses.get(key) ?? 0);
    return keys.length && Math.min(...numbers) > 0 ? keys.length + Math.max(...numbers) / (this.number + 1) : 0;
  }

  // A step has been taken. What is held still counts, unless the game waits for keys and this was not its turn to.
  taken(isAutomatic) {
    this.recent.clear();
    if (isAutomatic && this.heads.some((head) => !head.rests)) this.down.clear();
    this.mark();
  }

  // Shows which choices are held.
  mark() {
    this.buttons.forEach((buttons, h) => {
      buttons.forEach((button, choice) => {
        const keys = this.heads[h].keys[choice];
        const isHeld = this.down.has(`${h}:${choice}`) || (keys.length && keys.every((key) => this.down.has(key)));
        button?.classList.toggle("held", Boolean(isHeld));
      });
    });
  }

  // Shows which choices are legal.
  show(legal) {
    this.buttons.forEach((buttons, h) => {
      buttons.forEach((button, choice) => button && (button.disabled = !legal[h][choice]));
    });
  }
}
