"""The table of data sets.

To add one: put its files into a folder of its own, add an entry here with their checksums, and
write a loader that turns the contents into a Bunch. Say that a file is published only if what can
be downloaded is known to have, perhaps unpacked and converted, that checksum.
"""

from __future__ import annotations

from typing import Final

from splinear.datasets._download import Published
from splinear.datasets._files import DataFile, DataSet

__all__ = ["adult_csv"]

_ADULT_COLUMNS = (
    "age,workclass,fnlwgt,education,education-num,marital-status,occupation,relationship,race,sex,"
    "capital-gain,capital-loss,hours-per-week,native-country,income"
)
_UCI = "https://archive.ics.uci.edu/dataset"
_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets"

_ADULT = "https://archive.ics.uci.edu/ml/machine-learning-databases/adult"
_MNIST = (
    "https://ossci-datasets.s3.amazonaws.com/mnist",
    "https://storage.googleapis.com/cvdf-datasets/mnist",
)


def adult_csv(published: bytes) -> bytes:
    """Turn adult.data or adult.test into CSV with a header.

    The original has a blank after each comma and an empty last line; adult.test also begins with a
    comment and ends each row with a dot.
    """
    lines = published.decode("ascii").splitlines()
    rows = [line.rstrip(".") for line in lines if line and not line.startswith("|")]
    return "\n".join([_ADULT_COLUMNS, *(row.replace(", ", ",") for row in rows), ""]).encode()


def _mnist(name: str, content_sha256: str, sha256: str) -> DataFile:
    """Return a file of MNIST, by the checksums of its content and of the packed file."""
    path = f"mnist/{name}.gz"
    urls = tuple(f"{mirror}/{name}.gz" for mirror in _MNIST)
    return DataFile(path, content_sha256, Published(path, sha256, urls))


def _libsvm(name: str, sha256: str) -> DataFile:
    """Return a file of the LIBSVM page, which publishes it as plain text."""
    path = f"{name.removesuffix('.t')}/{name}"
    return DataFile(f"{path}.bz2", sha256, Published(path, sha256, (f"{_LIBSVM}/binary/{name}",)))


DATA_SETS: Final[dict[str, DataSet]] = {
    "mnist": DataSet(
        title="MNIST handwritten digits (LeCun, Cortes, Burges)",
        url="http://yann.lecun.com/exdb/mnist/",
        files=(
            _mnist(
                "train-images-idx3-ubyte",
                "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
                "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
            ),
            _mnist(
                "train-labels-idx1-ubyte",
                "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
                "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
            ),
            _mnist(
                "t10k-images-idx3-ubyte",
                "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
                "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
            ),
            _mnist(
                "t10k-labels-idx1-ubyte",
                "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
                "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
            ),
        ),
        summary="Gray images of 28 x 28 pixels, 60,000 for training and 10,000 for testing. "
        "The target is the digit.",
    ),
    "daimler": DataSet(
        title="Daimler pedestrian classification benchmark (Munder and Gavrila, 2006)",
        url="http://www.gavrila.net/Datasets/Daimler_Pedestrian_Benchmark_D/"
        "Daimler_Mono_Ped__Class__Bench/daimler_mono_ped__class__bench.html",
        files=(
            DataFile(
                "daimler_ped/daimler_ped.npz",
                "66b1597468d1888da39ebd5dd0c6c0245ee705d283fddebd2a336d877c96a401",
            ),
        ),
        summary="Gray images of 36 x 18 pixels in five subsets of 4,800 pedestrians (target 1) and "
        "5,000 others (target 0). One trains on two of the subsets 1, 2, 3 and tests on T1 or T2. "
        "Pedestrians come with mirrored copies, so a random split inside a subset is not honest. "
        "For research use only.",
    ),
    "adult": DataSet(
        title="Adult census income (Becker and Kohavi)",
        url=f"{_UCI}/2/adult",
        files=(
            DataFile(
                "adult/adult.npz",
                "9613a4408e439fb541aa30c9ea3a181d9bc3488de2f44674170f56b411750b0c",
            ),
        ),
        summary="48,842 people, 6 numbers and 102 one-hot columns of categories each. Target 1: "
        "more than 50,000 dollars a year. The official test rows are marked.",
    ),
    "adult_raw": DataSet(
        title="Adult census income (Becker and Kohavi)",
        url=f"{_UCI}/2/adult",
        files=(
            DataFile(
                "adult/adult_train.csv.gz",
                "f2c62076f19504d99a38b22badf445a7f42530ade6b827acf78dd143fbce38bb",
                Published(
                    "adult/adult.data",
                    "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
                    (f"{_ADULT}/adult.data",),
                    adult_csv,
                ),
            ),
            DataFile(
                "adult/adult_test.csv.gz",
                "f6b1801c5d231515ea5ff04d4444997bacd57e04876e94710cb9b9bd5549c033",
                Published(
                    "adult/adult.test",
                    "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
                    (f"{_ADULT}/adult.test",),
                    adult_csv,
                ),
            ),
        ),
        summary="48,842 people, 6 numbers and 8 categories each, some of them missing. Target 1: "
        "more than 50,000 dollars a year. The official test rows are marked.",
    ),
    "california_housing": DataSet(
        title="California housing (Pace and Barry, 1997)",
        url="https://www.dcc.fc.up.pt/~ltorgo/Regression/cal_housing.html",
        files=(
            DataFile(
                "california_housing/california_housing.npz",
                "0577c6d218aef07a0ca2d558e13db2fce746d0eb4fb1c3b6b9a91af47b2609c3",
            ),
        ),
        summary="20,640 blocks of the 1990 census with 8 numbers each. The target is the median "
        "house value in 100,000 dollars.",
    ),
    "cod_rna": DataSet(
        title="cod-rna (Uzilov, Keegan and Mathews, 2006)",
        url=f"{_LIBSVM}/binary.html#cod-rna",
        files=(
            DataFile(
                "cod_rna/cod_rna.npz",
                "b3435e09e2842c85255a1910be52d148a9c4c5c583d21ea302be4a7e28af06d3",
            ),
        ),
        summary="59,535 pairs of sequences with 8 numbers each: free energy change, length and "
        "frequencies of nucleotides. A third of the rows is positive.",
    ),
    "covtype": DataSet(
        title="Forest cover type (Blackard, 1998)",
        url=f"{_UCI}/31/covertype",
        files=(
            DataFile(
                "covtype/covtype.npz",
                "d7f67316444e6f675e098b1e782bb91fb5d4a7c16c82ffc10e4e506ab252e1b7",
            ),
        ),
        summary="581,012 patches of forest, 10 numbers and 44 columns of zeros and ones each. The "
        "target is the cover type, 1 to 7.",
    ),
    "credit_default": DataSet(
        title="Default of credit card clients (Yeh, 2009)",
        url=f"{_UCI}/350/default+of+credit+card+clients",
        files=(
            DataFile(
                "credit_default/credit_default.npz",
                "8458b91817afae597f59f76558eb3d210a2007f0b091cc30b6820acd1e27326e",
            ),
        ),
        summary="30,000 clients of a bank in Taiwan, 33 columns, categories as one-hot. Target 1 "
        "(22 % of the rows): default in the following month.",
    ),
    "magic": DataSet(
        title="MAGIC gamma telescope (Bock, 2004)",
        url=f"{_UCI}/159/magic+gamma+telescope",
        files=(
            DataFile(
                "magic/magic.npz",
                "48c8faf9a7b6b8af26ecfface38089310510b1a41e82a714dca1bb4a7a001b60",
            ),
        ),
        summary="19,020 simulated showers of particles with 10 numbers each. Target 1: gamma rays, "
        "0: hadrons.",
    ),
    "skin": DataSet(
        title="Skin segmentation (Bhatt and Dhall, 2012)",
        url=f"{_UCI}/229/skin+segmentation",
        files=(
            DataFile(
                "skin/skin.npz",
                "d82371b80d97caf07255891b4b6acdc5f4efb457c41e8c04dd6f782051c22498",
            ),
        ),
        summary="245,057 pixels, blue, green and red from 0 to 255. Target 1: skin. Many rows "
        "repeat, so a random split is optimistic.",
    ),
    "spambase": DataSet(
        title="Spambase (Hopkins, Reeber, Forman and Suermondt, 1999)",
        url=f"{_UCI}/94/spambase",
        files=(
            DataFile(
                "spambase/spambase.npz",
                "d239516bd4fcac7ff80bf0593654e800e5225e0af90ff02894e3b9c10275f4dc",
            ),
        ),
        summary="4,601 e-mails, 57 frequencies of words and characters and lengths of runs of "
        "capitals, with heavy tails. Target 1: spam.",
    ),
    "usps": DataSet(
        title="USPS handwritten digits (Hull, 1994)",
        url=f"{_LIBSVM}/multiclass.html#usps",
        files=(
            DataFile(
                "usps/usps.npz",
                "be43c42fe118cb9b8061d1acd86d7c8eca70ce8f54945a4f970b34664e559ff6",
            ),
        ),
        summary="9,298 images of 16 x 16 pixels as rows of 256 values from 0 to 1. The target is "
        "the digit. The official test rows are marked.",
    ),
    "a9a": DataSet(
        title="a9a (Platt, 1999, from Adult)",
        url=f"{_LIBSVM}/binary.html#a9a",
        files=(
            _libsvm(
                "a9a",
                "c074420ff4c671f891ebd4bc629ae16f840ab73ba11db4409dcbb9e0defce6d6",
            ),
            _libsvm(
                "a9a.t",
                "24f000d24d6d8afec33bddfac3e7e024a50d414db9cf6c9a737bc72760ce80ab",
            ),
        ),
        summary="The Adult data as 123 sparse columns of zeros and ones, 32,561 rows for training "
        "and 16,281 for testing. Target 1: more than 50,000 dollars a year.",
    ),
    "w8a": DataSet(
        title="w8a (Platt, 1999)",
        url=f"{_LIBSVM}/binary.html#w8a",
        files=(
            _libsvm(
                "w8a",
                "faff825705e71e9627c97ad6cf9862101a4ecb69d08adfadb297717b29156ce6",
            ),
        ),
        summary="49,749 web pages, 300 sparse keyword columns of zeros and ones. Target 1: the "
        "page belongs to the category (3 % of the rows).",
    ),
    "newsgroups20": DataSet(
        title="20 Newsgroups, split by date (Lang, 1995; Rennie)",
        url="http://qwone.com/~jason/20Newsgroups/",
        files=(
            DataFile(
                "newsgroups20/newsgroups20_bow.npz",
                "4f00ec033c8bd978bc94fc8b4a82d68c54a65155bc0c7d9c82d7120160df4eea",
            ),
            DataFile(
                "newsgroups20/vocabulary.txt.bz2",
                "be1e00db06fbf2797bc512cd4593f5f6d464a6da7508c3deeb1dbb4ed329ca62",
            ),
        ),
        summary="18,846 messages as sparse counts of 130,108 words, 11,314 for training and 7,532 "
        "for testing. The target is the group, 0 to 19.",
    ),
}
