"""A browser driven by mouse and keyboard like a user's: W3C WebDriver, with chromedriver."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

SECONDS = 120
_STARTED = re.compile(r"started successfully on port (\d+)")
_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
KEYS = {
    "Tab": "\ue004",
    "Enter": "\ue007",
    "Escape": "\ue00c",
    "Left": "\ue012",
    "Up": "\ue013",
    "Right": "\ue014",
    "Down": "\ue015",
    "End": "\ue010",
    "Home": "\ue011",
}


class Driver:
    """One window of a browser."""

    def __init__(self, port: int, folder: Path) -> None:
        self._base = f"http://127.0.0.1:{port}"
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        arguments += [f"--user-data-dir={folder / 'profile'}", "--hide-scrollbars"]
        wanted = {"goog:chromeOptions": {"args": arguments}, "goog:loggingPrefs": {"browser": "ALL"}}
        made = self._call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self._base += f"/session/{made['sessionId']}"

    def open(self, page: Path, width: int = 1200, height: int = 900, scheme: str = "light") -> None:
        """Open a page in a window of this width, with the preferred colour scheme."""
        # While a page scrolls smoothly, a click hits the wrong place.
        wishes = {"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"}
        media = {"features": [{"name": name, "value": value} for name, value in wishes.items()]}
        self.cdp("Emulation.setEmulatedMedia", media)
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.cdp("Emulation.setDeviceMetricsOverride", size)
        self._call("POST", "/url", {"url": page.as_uri()})

    def run(self, script: str) -> Any:
        """Run a script, and return its JSON result."""
        return self._call("POST", "/execute/sync", {"script": script, "args": []})

    def hover(self, selector: str) -> None:
        """Move the mouse over an element."""
        self._point([{"type": "pointerMove", "origin": self._element(selector), "x": 0, "y": 0}])

    def click(self, selector: str) -> None:
        """Click an element."""
        move = {"type": "pointerMove", "origin": self._element(selector), "x": 0, "y": 0}
        press = [{"type": kind, "button": 0} for kind in ("pointerDown", "pointerUp")]
        self._point([move, *press])

    def press(self, *keys: str) -> None:
        """Press keys by name, or type text."""
        steps = []
        for key in keys:
            for char in KEYS.get(key, key):
                steps += [{"type": "keyDown", "value": char}, {"type": "keyUp", "value": char}]
        self._act({"type": "key", "id": "keys", "actions": steps})

    def log(self) -> list[str]:
        """Return the browser's warnings and errors."""
        return [each["message"] for each in self._call("POST", "/se/log", {"type": "browser"})]

    def cdp(self, name: str, parameters: dict[str, Any]) -> Any:
        """Send a command of the Chrome DevTools Protocol."""
        return self._call("POST", "/goog/cdp/execute", {"cmd": name, "params": parameters})

    def quit(self) -> None:
        self._call("DELETE", "", None)

    def _point(self, steps: list[dict[str, Any]]) -> None:
        self._act(
            {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": steps}
        )

    def _act(self, source: dict[str, Any]) -> None:
        self._call("POST", "/actions", {"actions": [source]})

    def _element(self, selector: str) -> dict[str, str]:
        found = self._call("POST", "/element", {"using": "css selector", "value": selector})
        element = {_ELEMENT: found[_ELEMENT]}
        script = "arguments[0].scrollIntoView({block: 'center', behavior: 'instant'});"
        self._call("POST", "/execute/sync", {"script": script, "args": [element]})
        return element

    def _call(self, method: str, path: str, body: dict[str, Any] | None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = Request(self._base + path, data, {"Content-Type": "application/json"}, method=method)  # noqa: S310
        with urlopen(request, timeout=SECONDS) as answer:  # noqa: S310
            return json.load(answer)["value"]


@contextmanager
def driven(folder: Path) -> Iterator[Driver]:
    """Start a browser with its own profile below *folder*, and end it."""
    with subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            port = next(int(found[1]) for line in process.stdout if (found := _STARTED.search(line)))
            driver = Driver(port, folder)
            try:
                yield driver
            finally:
                driver.quit()
        finally:
            process.terminate()
