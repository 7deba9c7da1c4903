"""From texts to a finished run in a folder: what :func:`coterie.cluster` does."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from coterie._folders import held, refuse_held
from coterie._progress import make_progress, say
from coterie._threads import one_blas_thread
from coterie._trust import inside
from coterie._validation import check_path
from coterie.base import TextClusterer
from coterie.base.fitting import Fitting, number_encoder
from coterie.choose import Choice, choose_n_clusters
from coterie.corpus import Corpus
from coterie.errors import UsageError, counted
from coterie.guidance import Guidance
from coterie.methods.auto import Auto
from coterie.options import Options
from coterie.run_files import NEXT, index_of, model_folder
from coterie.runs.engine import Engine
from coterie.runs.folder import RunFolder, read_started, refuse_taken
from coterie.runs.guide import about_guidance, digest, read_guidance
from coterie.runs.outputs import check_run_output
from coterie.runs.results import Results
from coterie.runs.sample import files_of, read_texts


class Stopped(KeyboardInterrupt):
    """Ctrl-C in a run that can be resumed."""


@dataclass(frozen=True)
class MadeRun:
    """A finished run, and what only its maker knows; the arguments of :class:`coterie.Run`."""

    folder: Path
    model: TextClusterer | None = None  # as it was fitted, with the vectors of all texts
    remarks: Sequence[str] = ()  # what the writing of single files noticed, in sentences
    fresh: bool = True  # False if the folder held this run already, finished
    temporary: TemporaryDirectory[str] | None = None
    index: tuple[Any, Collection[str]] = (None, ())  # of the frame that was clustered


@one_blas_thread()
def make_run(data: object, asked: Options) -> MadeRun:
    """Read, find the number of clusters, fit, describe, mark outliers, write."""
    with Engine(asked.engine, asked.workers) as engine:
        return _make_run(data, asked, engine)


def _make_run(data: object, asked: Options, engine: Engine) -> MadeRun:
    folder, resume, overwrite = asked.folder, asked.resume, asked.overwrite
    temporary = None
    if folder is None:
        temporary = TemporaryDirectory(prefix="coterie-")
        folder = Path(temporary.name) / "run"
    path = Path(folder)
    read = [*(check_path("data", str(file)) for file in files_of(data)), asked.views]
    check_run_output(path, [name for name in read if isinstance(name, (str, Path))])
    refuse_held(path)
    refuse_taken(path, resume=resume, overwrite=overwrite)
    model = asked.make_checked_model()
    corpus, encoder = read_texts(data, asked, engine)
    if encoder is not None:  # vectors of the user's own
        model.encoder, asked = encoder, replace(asked, encoder=encoder, vectors=None)
    earlier = None
    if asked.keep is not None:
        from coterie.editing.keep import read_earlier

        earlier = read_earlier(Path(asked.keep), corpus.texts)
    guidance = read_guidance(asked, corpus, earlier) if corpus.large is None else None
    fit = RunFit(model, corpus, asked, guidance)
    choice = fit.choose(path if resume else None)
    place = RunFolder(path, asked, model, corpus, choice, digest(guidance))
    place.locate(resume=resume, overwrite=overwrite)
    with held(path):
        if place.begin(resume=resume, overwrite=overwrite) == "done":
            return MadeRun(path, fresh=False)
        with _stoppable(place):
            model = fit.run(place)
            if guidance is not None and asked.guided:
                place.manifest["guidance"] = about_guidance(guidance, model, asked)
            Results(place, asked, model, corpus, earlier, fit.medium, engine).write()
    return MadeRun(
        path,
        model=model if corpus.large is None else None,
        remarks=place.remarks,
        temporary=temporary,
        index=index_of(data),
    )


class RunFit:
    """The number of clusters and the fit of a run, from one reading of the texts.

    Texts are cleaned when they are read. The encoder is loaded, and the texts are tokenised and
    encoded, when a step first needs it; choosing the number of clusters and fitting use the same
    vectors. The model is not fitted; :meth:`choose` sets its number of clusters.
    """

    def __init__(
        self,
        model: TextClusterer,
        corpus: Corpus,
        options: Options,
        guidance: Guidance | None = None,
    ) -> None:
        self.model, self.corpus, self.options = model, corpus, options
        self.guidance = guidance
        if options.verbose:
            say(f"{counted(len(corpus), 'row')}, texts in the column {corpus.text_column!r}")
            for note in corpus.notes:
                say(f"  {note.message}")

    @cached_property
    def fitting(self) -> Fitting:
        """The encoder and the texts as it takes them."""
        guidance = self.guidance if self.model._uses_guidance() else None
        return Fitting(self.model, self.corpus.texts, None, guide=lambda rows: guidance)

    def choose(self, earlier: Path | None = None) -> Choice | None:
        """Set the number of clusters: as asked for, of the run that is resumed, or found.

        Returns None if nothing had to be found.
        """
        options, found = self.options, None
        k = options.wanted
        classes = 0 if self.guidance is None else len(self.guidance.names)
        if k is not None and k < classes:
            raise UsageError(
                f"there are {classes} known classes, but `n_clusters={k!r}`; ask for at least "
                f"{classes}."
            )
        if options.only_known:
            k = self._known_classes(classes)
        if k is None:
            found = self._chosen_before(earlier) or self._find_number()
            k = max(found.n_clusters, classes, self._kept_apart())
            if k > found.n_clusters and options.verbose:
                say(f"There are {k} clusters, so that all given ones have a place.")
        self.medium = k
        if found is not None and isinstance(self.model, Auto) and self.grows_tree:
            k = found.levels.get("fine", k)
            self.model._even = True  # sizes are looked at when the fine clusters are merged
        options.check_texts(k, self.corpus.texts, lambda: self.fitting.inputs.n_distinct)
        self.model.n_clusters = k
        return found if found is not None and found.curve else None

    @property
    def grows_tree(self) -> bool:
        """Whether a finer clustering is fitted, whose clusters a tree then merges."""
        asked = self.options
        return not asked.levels and asked.keep is None and self.guidance is None

    def _kept_apart(self) -> int:
        """How many clusters of the run that is kept have texts that a person has bound to them."""
        if self.options.keep is None or self.guidance is None:
            return 0
        return len({row for pair in self.guidance.apart for row in pair})

    def _known_classes(self, classes: int) -> int:
        """How many of the known classes have texts, where there are no other clusters."""
        self.model.n_clusters = classes
        known = self.fitting.find_themes()
        assert known is not None
        if not known.n_classes:
            raise UsageError(
                "`themes`: no text fits any of the themes, and `only_known` allows no other "
                "cluster; give descriptions or examples."
            )
        return known.n_classes

    def _chosen_before(self, folder: Path | None) -> Choice | None:
        """The choice of the run that is resumed, if texts, encoder and seed are the same."""
        parameters = self.model.get_params(deep=False)
        for place in () if folder is None else (folder / NEXT, folder):
            earlier = read_started(place) or {}
            known, before = earlier.get("number_of_clusters"), earlier.get("parameters", {})
            same = earlier.get("data", {}).get("sha256") == self.corpus.sha256
            if known and same and earlier.get("fit_sample") == self._fit_sample():
                if all(
                    str(before.get(n)) == str(parameters[n])
                    for n in ("encoder", "precision", "random_state")
                ):
                    return Choice(
                        **{f.name: known[f.name] for f in fields(Choice) if f.name in known}
                    )
        return None

    def _fit_sample(self) -> int | None:
        large = self.corpus.large
        return None if large is None else len(large.survey.texts)

    def _find_number(self) -> Choice:
        encoder = number_encoder(self.model)
        if encoder is self.model.encoder:
            choice = self.fitting.find_number()
        else:  # the method has an encoder of its own
            choice = choose_n_clusters(
                self.corpus.texts,
                encoder=encoder,
                random_state=self.options.seed,
                progress=make_progress(self.options.verbose),
            )
        if self.options.verbose:
            say(choice.reason)
        return choice

    def run(self, place: RunFolder) -> TextClusterer:
        """The fitted model: of the run that is resumed, if it got that far."""
        if "fitted" in place.manifest:
            from coterie.methods import load

            return load(model_folder(place.work))
        self.model.checkpoint = inside(place.work, "checkpoint")
        self.fitting.run()
        return self.model


@contextmanager
def _stoppable(place: RunFolder) -> Iterator[None]:
    """Ctrl-C and errors leave what is done, with the reason in the manifest."""
    try:
        yield
    except KeyboardInterrupt:
        place.stopped("interrupted", "Ctrl-C")
        raise Stopped from None
    except Exception as error:
        place.stopped("failed", str(error))
        raise
