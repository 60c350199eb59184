//! The inputs of `corpus/`, and up to some thousand variants of each, which differ in some bytes.

use std::fs;
use std::panic::catch_unwind;
use std::path::Path;

use fuzz::{TARGETS, Target};
use tests::mutants::mutate_bytes;
use tests::random::Random;

#[test]
fn the_corpus_and_its_variants_hold() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let mut wrong = Vec::new();
    for Target { name, check, n_variants } in TARGETS {
        let mut files: Vec<_> =
            fs::read_dir(folder.join(name)).unwrap().map(|it| it.unwrap().path()).collect();
        files.sort();
        assert!(!files.is_empty(), "no inputs for {name}");
        for (number, file) in files.iter().enumerate() {
            let whole = fs::read(file).unwrap();
            let mut random = Random::new(number as u64);
            for variant in 0..=n_variants / files.len() {
                let mut bytes = whole.clone();
                for _ in 0..variant.min(1 + random.below(4)) {
                    mutate_bytes(&mut bytes, &mut random);
                }
                if catch_unwind(|| check(&bytes)).is_err() {
                    wrong.push(format!("variant {variant} of {}: {bytes:?}", file.display()));
                    break;
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_corpus_of_ledgers_is_of_this_version() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/ledgers");
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        assert!(
            ledger_file::read_body(&fs::read(&path).unwrap()).is_ok(),
            "{} is of an earlier version of the format: write what `perfline ledger` makes of the trace of the same name in \
             corpus/trace, without its first two bytes, and leave out the first line of that",
            path.display()
        );
    }
}
