"""Methods that only the papers' tables compare with.

coterie finds them by the entry point of this package, so that ``--method stcc`` works where it is
installed.
"""

from coterie.models.registry import Recipe

HERE = "coterie_bench.baselines"
METHODS = {
    "self-train": Recipe(
        f"{HERE}.self_train:SelfTrain",
        "word vectors, autoencoder, then as dec",
        {"encoder": "sif"},
    ),
    "kate": Recipe(
        f"{HERE}.kate:KATE",
        "competitive autoencoder on a bag of words, then k-means",
        {"encoder": "log-counts"},
    ),
    "lda": Recipe(f"{HERE}.lda:LDA", "a topic of words for each cluster", {"encoder": "lda"}),
    "vascl": Recipe(
        f"{HERE}.vascl:VaSCL", "contrastive loss, virtual augmentations; trains the encoder"
    ),
    "tsdae": Recipe(
        "coterie.methods.cluster_bert:ClusterBERT",
        "denoising autoencoder; trains the encoder",
        {"rounds": 0, "harden_epochs": 0, "lr": 3e-5, "head_lr": 3e-5},
    ),
    "stcc": Recipe(
        f"{HERE}.stcc:STCC",
        "a network over words learns binary codes of TF-IDF",
        {"encoder": "word-cnn"},
    ),
    "hac-sd": Recipe(f"{HERE}.hac_sd:HACSD", "encoder, then linkage of the most similar pairs"),
    "sif-kmeans": Recipe(
        f"{HERE}.sif:SIF", "weighted means of word vectors, then k-means", {"encoder": "sif"}
    ),
}
