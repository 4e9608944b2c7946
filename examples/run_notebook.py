"""Runs a notebook without Jupyter: python3 run_notebook.py notebook.ipynb [--write]

Cells run in order in one namespace, and what fails ends it. --write keeps what cells print and show in the
file, as Jupyter does; pages of more than 20,000 characters are left out.
"""

import ast
import contextlib
import io
import json
import sys


def show(value):
    """What Jupyter keeps of the value of a cell."""
    data = {"text/plain": repr(value).splitlines(keepends=True)}
    page = getattr(value, "_repr_html_", None)
    text = page() if page else None
    if text and len(text) <= 20_000:
        data["text/html"] = text.splitlines(keepends=True)
    return data


def run(cell, names, number):
    """Run a cell and return its outputs."""
    tree = ast.parse("".join(cell["source"]), f"cell {number}")
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, outputs = io.StringIO(), []
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, f"cell {number}", "exec"), names)
        value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names) if last else None
    if printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": printed.getvalue().splitlines(keepends=True)})
    if value is not None:
        outputs.append({"output_type": "execute_result", "execution_count": number, "metadata": {}, "data": show(value)})
    return outputs


def main(path, write):
    with open(path, encoding="utf-8") as f:
        notebook = json.load(f)
    names, number = {"__name__": "__main__"}, 0
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        number += 1
        outputs = run(cell, names, number)
        for o in outputs:
            print("".join(o.get("text") or o["data"]["text/plain"]))
        if write:
            cell["outputs"], cell["execution_count"] = outputs, number
    if write:
        with open(path, "w", encoding="utf-8") as f:
            json.dump(notebook, f, indent=1, ensure_ascii=False)
            f.write("\n")
    print(f"{number} cells: OK")


if __name__ == "__main__":
    main(sys.argv[1], "--write" in sys.argv[2:]) if len(sys.argv) > 1 else sys.exit(__doc__)
