from coterie.augmentation import augment as augment
from coterie.base import TextClusterer as TextClusterer
from coterie.choose import choose_n_clusters as choose_n_clusters
from coterie.comparison.clusters import compare_clusters as compare_clusters
from coterie.comparison.compare import compare as compare
from coterie.corpus import read_corpus as read_corpus
from coterie.corpus import sample as sample
from coterie.corpus.sentences import split_sentences as split_sentences
from coterie.description import describe as describe
from coterie.editing.edit import cut as cut
from coterie.editing.edit import edit as edit
from coterie.errors import CoterieError as CoterieError
from coterie.exports import export_run as export_run
from coterie.masking import mask as mask
from coterie.methods import METHODS as METHODS
from coterie.methods import load as load
from coterie.methods import make_method as make_method
from coterie.methods.adsl import ADSL as ADSL
from coterie.methods.aecl import AECL as AECL
from coterie.methods.auto import Auto as Auto
from coterie.methods.classical import Consensus as Consensus
from coterie.methods.classical import TwoStep as TwoStep
from coterie.methods.cluster_bert import ClusterBERT as ClusterBERT
from coterie.methods.dec import DEC as DEC
from coterie.methods.dec import IDEC as IDEC
from coterie.methods.dec import Autoencoder as Autoencoder
from coterie.methods.deccrl import DECCRL as DECCRL
from coterie.methods.rstc import RSTC as RSTC
from coterie.methods.sccl import SCCL as SCCL
from coterie.naming import name_clusters as name_clusters
from coterie.outliers import mark_outliers as mark_outliers
from coterie.outliers import outlier_scores as outlier_scores
from coterie.runs import Run as Run
from coterie.runs import open_run as open_run
from coterie.runs.fit import cluster as cluster

__version__: str
__all__: list[str]
_PUBLIC: dict[str, str]
