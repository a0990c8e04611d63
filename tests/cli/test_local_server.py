"""Ports of servers on this machine."""

from __future__ import annotations

import pytest

from warpworld.errors import RunError

server = pytest.importorskip("warpworld.cli.local_server", reason="no uvicorn here: pip install 'warpworld[board]'")
pytestmark = pytest.mark.cpu_backend


def test_the_next_port_is_taken_where_one_is_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    with server.bind(0) as first:
        port = first.getsockname()[1]
        with server.bind(port) as second:
            assert port < second.getsockname()[1] <= port + server.MOST_PORTS
            assert second.getsockname()[0] == "127.0.0.1"
        monkeypatch.setattr(server, "MOST_PORTS", 1)
        with pytest.raises(RunError) as caught:
            server.bind(port)
    message = f"none of the ports {port} to {port} is free on 127.0.0.1; give another one with --port"
    assert str(caught.value) == message
