"""Put what ``splinear reproduce -o FOLDER`` wrote into docs/reproduce.md, below its last heading.

``python docs/images/make_reproduce.py FOLDER``
"""

import re
import shutil
import sys
from pathlib import Path

MARK = "<!-- From here on as the command wrote it. -->\n"

written, docs = Path(sys.argv[1]), Path(__file__).parents[1]
pictures = docs / "images" / "reproduce"
pictures.mkdir(exist_ok=True)
for picture in written.glob("figure*.png"):
    shutil.copy(picture, pictures)

page = docs / "reproduce.md"
own = page.read_text(encoding="utf-8").partition(MARK)[0].rstrip()
body = (written / "reproduce.md").read_text(encoding="utf-8")
body = re.sub(r"\]\((figure\d\.png)\)", r"](images/reproduce/\1)", body)
body = re.sub(r"^#", "##", body, flags=re.MULTILINE)  # one level below the page's own title
page.write_text(f"{own}\n\n{MARK}\n{body}", encoding="utf-8")
