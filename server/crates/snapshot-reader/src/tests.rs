//! Each opcode, each layout, and pickles that lie, break off or attack.

use super::*;

#[test]
fn a_snapshot_is_told_from_other_pickles_by_its_first_bytes() {
    let yes: [&[u8]; 6] = [
        b"\x80\x02}q\x00",
        b"\x80\x02]q\x00",
        b"\x80\x03}q\x00",
        b"\x80\x04\x95\x10\0\0\0\0\0\0\0}\x94",
        b"\x80\x05\x95\x10\0\0\0\0\0\0\0]\x94",
        b"\x80\x04",
    ];
    for prefix in yes {
        assert!(looks_like_snapshot(prefix), "{prefix:?}");
    }
    // The second is how `torch.save` began its files before it wrote archives.
    let no: [&[u8]; 6] =
        [b"", b"\x80\x02\x8a\x0al\xfc\x9cF", b"\x80\x01}", b"\x80\x06}", b"{\"a\"", b"\x1f\x8b"];
    for prefix in no {
        assert!(!looks_like_snapshot(prefix), "{prefix:?}");
    }
}
