"""YAML as plain texts, lists and mappings with line numbers: nothing is guessed, nothing is run.

The usual reading of YAML turns ``no`` into False and ``1.10`` into a number, which is wrong for
names of clusters. Here every value is the text that was written. Anchors, tags and keys that are
there twice are refused, because they hide what a file does.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from coterie._errors import DataError

DEEPEST = 20  # lists and mappings in one another
LONGEST = 200_000  # values, lists and mappings
KINDS = ("str", "int", "float", "bool", "null", "seq", "map", "timestamp", "merge", "value")
PLAIN = {f"tag:yaml.org,2002:{kind}" for kind in KINDS}


def read_yaml(text: str, name: str) -> list[tuple[int, Any]]:
    """The entries of a YAML list, or of a mapping one by one, with the lines they begin on.

    Parameters
    ----------
    text : str
    name : str
        Of the file, for messages.
    """
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the other one is ten times slower
    try:
        _check_events(yaml.parse(text, Loader=loader), name)
        root = yaml.compose(text, Loader=loader)
        if root is None:
            return []
        if isinstance(root, yaml.SequenceNode):
            return [(node.start_mark.line + 1, _value(node, name)) for node in root.value]
        if isinstance(root, yaml.MappingNode):
            whole = _value(root, name)
            lines = [key.start_mark.line + 1 for key, _ in root.value]
            return [(line, {key: whole[key]}) for line, key in zip(lines, whole, strict=True)]
    except yaml.YAMLError as error:
        line = getattr(getattr(error, "problem_mark", None), "line", None)
        where = name if line is None else f"{name}, line {line + 1}"
        said = getattr(error, "problem", None) or str(error)
        raise DataError(f"{where}: this is not YAML: {said}.") from error
    raise DataError(f"{name}: expected a list of edits, such as '- merge: [3, 7]'.")


def _check_events(events: Iterable[Any], name: str) -> None:
    """Refuse aliases, and what is nested deeper or longer than edits are, before it is built."""
    import yaml

    depth = 0
    for number, event in enumerate(events):
        if isinstance(event, yaml.AliasEvent):
            raise DataError(
                f"{_at(name, event)}: aliases (*{event.anchor}) are not read; write it out."
            )
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST or number > LONGEST:
            too = "nested too deeply" if depth > DEEPEST else "too long"
            raise DataError(f"{_at(name, event)}: it is {too} to be a list of edits.")


def _value(node: Any, name: str) -> Any:
    import yaml

    if node.tag not in PLAIN:
        raise DataError(f"{_at(name, node)}: the tag {node.tag} is not read; leave it out.")
    if isinstance(node, yaml.SequenceNode):
        return [_value(inner, name) for inner in node.value]
    if isinstance(node, yaml.MappingNode):
        out: dict[str, Any] = {}
        for key, inner in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise DataError(f"{_at(name, key)}: a key should be a word or a number.")
            if key.value in out:
                raise DataError(f"{_at(name, key)}: the key {key.value!r} is there twice.")
            out[key.value] = _value(inner, name)
        return out
    plain = not node.style and node.tag.endswith(":null")
    return None if plain else node.value


def _at(name: str, node: Any) -> str:
    return f"{name}, line {node.start_mark.line + 1}"
