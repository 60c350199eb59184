//! The opcodes of pickle protocols 0 to 5, by the names that Python's `pickletools` gives them.

/// What the machine may do with an opcode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// Builds plain data.
    Data,
    /// Imports a name, calls something, or refers to an object outside the file.
    Code,
    /// Plain data in a form that no snapshot has (Python 2 text, out-of-band buffers).
    Foreign,
}

/// Name and use of an opcode; `None` if no protocol has it.
pub(crate) fn describe(opcode: u8) -> Option<(&'static str, Use)> {
    let data = |name| Some((name, Use::Data));
    let code = |name| Some((name, Use::Code));
    match opcode {
        b'(' => data("MARK"),
        b'.' => data("STOP"),
        b'0' => data("POP"),
        b'1' => data("POP_MARK"),
        b'2' => data("DUP"),
        b'N' => data("NONE"),
        b'I' => data("INT"),
        b'J' => data("BININT"),
        b'K' => data("BININT1"),
        b'M' => data("BININT2"),
        b'L' => data("LONG"),
        b'F' => data("FLOAT"),
        b'G' => data("BINFLOAT"),
        b'T' => data("BINSTRING"),
        b'U' => data("SHORT_BINSTRING"),
        b'V' => data("UNICODE"),
        b'X' => data("BINUNICODE"),
        b'B' => data("BINBYTES"),
        b'C' => data("SHORT_BINBYTES"),
        b']' => data("EMPTY_LIST"),
        b'l' => data("LIST"),
        b'a' => data("APPEND"),
        b'e' => data("APPENDS"),
        b')' => data("EMPTY_TUPLE"),
        b't' => data("TUPLE"),
        b'}' => data("EMPTY_DICT"),
        b'd' => data("DICT"),
        b's' => data("SETITEM"),
        b'u' => data("SETITEMS"),
        b'g' => data("GET"),
        b'h' => data("BINGET"),
        b'j' => data("LONG_BINGET"),
        b'p' => data("PUT"),
        b'q' => data("BINPUT"),
        b'r' => data("LONG_BINPUT"),
        0x80 => data("PROTO"),
        0x85 => data("TUPLE1"),
        0x86 => data("TUPLE2"),
        0x87 => data("TUPLE3"),
        0x88 => data("NEWTRUE"),
        0x89 => data("NEWFALSE"),
        0x8a => data("LONG1"),
        0x8b => data("LONG4"),
        0x8c => data("SHORT_BINUNICODE"),
        0x8d => data("BINUNICODE8"),
        0x8e => data("BINBYTES8"),
        0x8f => data("EMPTY_SET"),
        0x90 => data("ADDITEMS"),
        0x91 => data("FROZENSET"),
        0x94 => data("MEMOIZE"),
        0x95 => data("FRAME"),
        0x96 => data("BYTEARRAY8"),
        b'c' => code("GLOBAL"),
        b'R' => code("REDUCE"),
        b'b' => code("BUILD"),
        b'i' => code("INST"),
        b'o' => code("OBJ"),
        b'P' => code("PERSID"),
        b'Q' => code("BINPERSID"),
        0x81 => code("NEWOBJ"),
        0x82 => code("EXT1"),
        0x83 => code("EXT2"),
        0x84 => code("EXT4"),
        0x92 => code("NEWOBJ_EX"),
        0x93 => code("STACK_GLOBAL"),
        b'S' => Some(("STRING", Use::Foreign)),
        0x97 => Some(("NEXT_BUFFER", Use::Foreign)),
        0x98 => Some(("READONLY_BUFFER", Use::Foreign)),
        _ => None,
    }
}
