#!/bin/sh
# Make an environment for each toolkit that `benchmarks.train` measures us beside, below the git-ignored
# folder .peers: `sh benchmarks/peers/install.sh [NAME...]`. PYTHON names the Python to use. All get the
# same torch; where a toolkit asks for an older one, its dependencies are named here instead of resolved.
# One that cannot be installed leaves its reason, which the table then shows, and does not stop the rest.
cd "$(dirname "$0")/../.." || exit 1
python=${PYTHON:-python3}
torch=torch==2.13.0
mkdir -p .peers
echo '*' > .peers/.gitignore

install() {  # NAME PIP-ARGUMENTS...
    name=$1
    shift
    [ -x ".peers/$name/bin/python" ] || "$python" -m venv ".peers/$name" || return 1
    # torch by itself first, so that a build that is at hand for it is taken.
    ".peers/$name/bin/pip" install --quiet --disable-pip-version-check $torch &&
        ".peers/$name/bin/pip" install --quiet --disable-pip-version-check $torch "$@"
}

eole() {
    install eole eole==0.6.4 aiohttp
}

fairseq() {
    install fairseq 'setuptools<80' wheel 'cython<3.1' 'numpy<2' cffi hydra-core==1.3.2 omegaconf==2.3.0 \
        regex sacrebleu tqdm bitarray scikit-learn packaging &&
        .peers/fairseq/bin/pip install --quiet --no-deps --no-build-isolation fairseq-fixed==0.12.3.1 &&
        unlock_mkl
}

marian() {
    install marian transformers==5.23.0 accelerate==1.15.0
}

opennmt() {
    install opennmt 'numpy<2' 'setuptools<80' configargparse ctranslate2 tensorboard pyonmttok pyyaml \
        sacrebleu rapidfuzz flask waitress six fasttext-wheel spacy pyahocorasick &&
        .peers/opennmt/bin/pip install --quiet --no-deps opennmt-py==3.5.1
}

joeynmt() {
    install joeynmt 'setuptools<80' numpy future pillow tensorboard sacrebleu sacremoses sentencepiece \
        subword-nmt matplotlib seaborn pyyaml six wrapt packaging pandas datasets importlib-metadata &&
        .peers/joeynmt/bin/pip install --quiet --no-deps joeynmt==2.3.0
}

# MKL takes its fast kernels on Intel's processors only; a preloaded function says that this is one.
unlock_mkl() {
    echo 'int mkl_serv_intel_cpu_true(void) { return 1; }' |
        cc -shared -fPIC -x c -o .peers/mkl_unlocked.so -
}

failed=0
for peer in ${*:-eole fairseq marian opennmt joeynmt}; do
    echo "$peer"
    if "$peer" > ".peers/$peer.log" 2>&1; then
        rm -f ".peers/$peer.reason"
    else
        failed=1
        echo "cannot be installed: $(grep -v '^ *$' ".peers/$peer.log" | grep -v -i notice | tail -n 1)" |
            tr '|' '/' | cut -c 1-200 | tee ".peers/$peer.reason"
    fi
done
exit $failed
