"""Train the encoder on your own texts by SCCL, and see whether that helped.

    python examples/train_encoder.py [STEPS]

Needs ``pip install 'coterie[train]'``. A few steps on a few texts show how it is done; to gain
something it takes some thousand texts, a thousand steps and a GPU.
"""

import sys

from coterie import SCCL, TwoStep, sample
from coterie.arrays.metrics import external_scores


def main(steps: str = "5") -> None:
    corpus = sample()
    themes = corpus.table.column("theme").to_pylist()
    rows = [i for i, theme in enumerate(themes) if theme != "none" and corpus.texts[i]][:120]
    texts, truth = [corpus.texts[i] for i in rows], [themes[i] for i in rows]

    start = TwoStep(17, random_state=0).fit(texts)
    model = SCCL(17, steps=int(steps), batch_size=32, random_state=0).fit(texts)
    print("returned to the start" if model.kept_start else "training was kept")
    for name, fitted in (("encoder + k-means", start), ("SCCL", model)):
        scores = external_scores(truth, fitted.labels_)  # labels are used here alone
        print(f"{name:18} ACC {scores['acc']:.2f}  NMI {scores['nmi']:.2f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
