"""The BERTopic side of ``bertopic.py``, run by the Python that has BERTopic installed.

It is what its documentation tells a user to write for a CSV file: read the texts, name an encoder,
fit, write the table. Run with ``python -I``, so that ``bertopic`` is the package and not the
script of that name beside this file.

    python -I bertopic_worker.py TEXTS.csv ENCODER_FOLDER TABLE.csv FACTS.json
"""

import csv
import json
import sys
import time
from importlib import metadata
from pathlib import Path

LIBRARIES = ("bertopic", "hdbscan", "umap-learn", "sentence-transformers", "torch", "numpy")


def main() -> None:
    begun = time.perf_counter()
    from bertopic import BERTopic
    from sentence_transformers import SentenceTransformer

    imported = time.perf_counter()
    source, encoder, table, facts = sys.argv[1:]
    with Path(source).open(newline="", encoding="utf-8") as file:
        texts = [row["text"] for row in csv.DictReader(file)]
    model = BERTopic(embedding_model=SentenceTransformer(encoder, device="cpu"))
    topics, _ = model.fit_transform(texts)
    fitted = time.perf_counter()
    model.get_document_info(texts).to_csv(table, index=False)
    written = time.perf_counter()
    found = {
        "labels": [int(topic) for topic in topics],
        "seconds": {"import": imported - begun, "fit": fitted - imported,
                    "table": written - fitted},
        "versions": {name: metadata.version(name) for name in LIBRARIES},
    }  # fmt: skip
    Path(facts).write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main()
