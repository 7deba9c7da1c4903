from coterie.arrays.outliers import mark_outliers as mark_outliers
from coterie.arrays.outliers import outlier_scores as outlier_scores
from coterie.describe import describe_clusters as describe_clusters
from coterie.describe.naming import name_clusters as name_clusters
from coterie.errors import CoterieError as CoterieError
from coterie.methods.adsl import ADSL as ADSL
from coterie.methods.aecl import AECL as AECL
from coterie.methods.augmentation import augment as augment
from coterie.methods.cluster_bert import ClusterBERT as ClusterBERT
from coterie.methods.dec import DEC as DEC
from coterie.methods.dec import IDEC as IDEC
from coterie.methods.dec import Autoencoder as Autoencoder
from coterie.methods.deccrl import DECCRL as DECCRL
from coterie.methods.rstc import RSTC as RSTC
from coterie.methods.sccl import SCCL as SCCL
from coterie.models.auto import Auto as Auto
from coterie.models.choose import choose_n_clusters as choose_n_clusters
from coterie.models.clusterer import TextClusterer as TextClusterer
from coterie.models.registry import METHODS as METHODS
from coterie.models.registry import load as load
from coterie.models.registry import make_method as make_method
from coterie.models.two_step import Consensus as Consensus
from coterie.models.two_step import TwoStep as TwoStep
from coterie.runs import Run as Run
from coterie.runs import open_run as open_run
from coterie.runs.comparison.clusters import compare_clusters as compare_clusters
from coterie.runs.comparison.compare import compare as compare
from coterie.runs.editing.edit import cut as cut
from coterie.runs.editing.edit import edit as edit
from coterie.runs.exports import export_run as export_run
from coterie.runs.fit import cluster as cluster
from coterie.texts import read_corpus as read_corpus
from coterie.texts import sample as sample
from coterie.texts.masking import mask as mask
from coterie.texts.sentences import split_sentences as split_sentences

__version__: str
__all__: list[str]
_PUBLIC: dict[str, str]
