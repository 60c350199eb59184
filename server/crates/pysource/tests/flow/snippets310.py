def match_values(a, b):
    match a.subject():
        case b.one:
            a.first()
        case 2 | b.three if a.guard:
            a.second()
        case [x, y] if x:
            a.third()
        case None:
            a.fourth()
        case _:
            a.last()
    a.end()


def match_wild(a):
    match (
        a
        .x
    ):
        case (
            1
            | 2
        ):
            a.one()
        case y:
            y.two()


def with_parenthesised(a, b):
    with (
        a.one() as x,
        b.two(
            1
        ) as y,
    ):
        x.body()
        y.boom()


def match_nested(a, b):
    match a, b:
        case [b.x, (1 | 2) as y]:
            a.one()
        case [
            x,
            y
        ] if x.y and \
                y:
            a.two()
        case z:
            a.three()


def match_loop(a):
    for x in a:
        match x.kind:
            case "one":
                continue
            case a.two:
                break
        x.rest()
    else:
        a.orelse()
