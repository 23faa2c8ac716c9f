"""``python -m docs.generate``: write the reference, the manual pages and the completions (``make docs``).

Also updates the output of the commands that are shown in the other pages.

Not part of the wheel: only this project needs it.
"""

from __future__ import annotations

from docs.generate.console import refreshed, texts_with_commands
from docs.generate.files import ROOT, files_on_disk, generated_files


def main() -> None:
    """Write new and changed files, and delete those that are no longer generated."""
    wanted, present = generated_files(), files_on_disk()
    for name in present.keys() - wanted.keys():
        (ROOT / name).unlink()
    for name, text in wanted.items():
        if present.get(name) != text:
            (ROOT / name).parent.mkdir(parents=True, exist_ok=True)
            (ROOT / name).write_text(text, encoding="utf-8")
    for path in texts_with_commands(ROOT):
        text = path.read_text(encoding="utf-8")
        new = refreshed(text, ROOT)
        if new != text:
            path.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
