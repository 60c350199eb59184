def call_plain(f, a, b):
    f(
        a,
        b.c,
    )


def call_method(m, a):
    m.n(
        a.b,
    )


def call_keywords(m, a):
    m.n.o(
        k=a.b,
    )


def call_name_keywords(f, a):
    f(
        a.b,
        k=a.c,
    )


def chain(x):
    return (
        x
        .one()
        .two(
            x.arg
        )
        .three.four(k=x)
        .five
    )


def chain_backslash(x):
    y = x \
        .one() \
        .two(3)
    return y


def nested(f, g, h):
    return f(
        g(
            h.i
        ),
        h.j(1),
    )


def call_of_call(f):
    f(1)(
        2
    )(
        3
    )


def call_of_subscript(f):
    f.layers[
        0
    ](
        f
    )


def binary(a, b, c):
    return (
        a
        + b
        * c
        - a
    )


def binary_trailing(a, b, c):
    x = a.x + \
        b.x @ \
        c.x
    return x


def operators(a, b):
    (a + b, a - b, a * b, a @ b, a / b, a % b, a ** b, a << b, a >> b, a | b, a ^ b, a & b, a // b)
    (-a, +a, ~a)


def unary(a):
    return -(
        a
        .b
    )


def subscript(a, b):
    return a[
        b.c
    ][
        0,
        b.d:b.e,
    ]


def subscript_store(a, b):
    a.x[
        b.i
    ] = b[
        0
    ]


def subscript_del(a, b):
    del a[
        b.c
    ], a.d


def attribute_store(a, b):
    a.x \
        .y = b.z


def targets(a, b):
    a.x, (a[0], *a[1]) = b.y = b


def unpack_lines(a):
    (
        x,
        y,
    ) = a.b
    return x


def compare(a, b, c):
    return (
        a
        < b.x
        <= c
    )


def compare_if(a, b, c):
    if (
        a < b.x
        < c
    ):
        a.then()
    else:
        a.other()


def compare_kinds(a, b):
    (a == b, a != b, a > b, a >= b, a is b, a is not b, b in a, b not in a)


def membership(a, b):
    if a.x in b:
        a.yes()
    if (
        a.x
        not in
        b
    ):
        a.no()


def bool_value(a, b, c):
    x = (
        a.x
        and b.x
        or c.x
    )
    return x


def bool_if(a, b, c):
    if (
        a.x
        and not b.x
        or c
    ):
        a.then()
    return a.end


def bool_nested(a, b, c):
    x = a and (b or c) and not a
    return x


def not_value(a):
    x = not (
        a
        .b
    )
    return x


def ternary(a, b, c):
    return (
        a.x
        if b.x
        else c.x
    )


def ternary_if(a, b, c):
    if a if b else c:
        a.then()


def if_elif(a, b):
    if a.x:
        a.one()
    elif b.y:
        a.two()
    elif not b.z:
        a.three()
    else:
        a.four()
    a.five()


def constants(a):
    x = 1 + 2 * 3 - -1
    if True:
        a.one()
    if 0:
        a.two()
    while 1:
        if a:
            break
        a.three()
    return x


def while_loop(a):
    while (
        a.x
        > a.y
    ):
        a.body()
        if a.stop:
            break
        if a.skip:
            continue
        a.rest()
    else:
        a.orelse()
    a.end()


def for_loop(a):
    for x in a:
        x.body()
        if x.stop:
            break
        if x.skip:
            continue
        x.rest()
    else:
        a.orelse()
    a.end()


def for_header(a):
    for (
        x,
        y
    ) in (
        a
        .items(
            1
        )
    ):
        x.body()


def for_call(a, f):
    for i, x in f(
        a,
        1,
    ):
        x.body(
            i
        )


def for_target(a, b):
    for b.x in a:
        pass


def for_return(a):
    for x in a:
        if x:
            return x.found()
    return a.lost()


def aug_name(a, b):
    a += b.x
    a @= (
        b
        .y
    )


def aug_attribute(a, b):
    a.x \
        .y += b.z


def aug_subscript(a, b):
    a[
        b.i
    ] -= b[
        0
    ]


def walrus(a):
    if (x := a.x) and (
        y := a.y
    ):
        return x


def with_one(a):
    with a.ctx() as x:
        x.body()
    a.end()


def with_many(a, b):
    with a.one() as x, \
            b.two(
                1
            ) as a.z, b:
        a.body()
        b.body()


def with_return(a):
    with a:
        if a.x:
            return a.value()
        a.rest()
    a.end()


def with_loop(a):
    for x in a:
        with x:
            if x.a:
                break
            if x.b:
                continue
            x.rest()
    a.end()


def with_raise(a):
    with a.ctx(
        1
    ):
        a.one()
        a.boom()
    a.end()


def try_except(a):
    try:
        a.one()
        if a.x:
            a.boom()
        a.two()
    except TypeError:
        a.wrong()
    except (
        KeyError,
        ValueError,
    ) as e:
        a.three()
    else:
        a.orelse()
    a.end()


def try_finally(a):
    try:
        a.one()
        if a.x:
            return a.early()
        if a.y:
            a.boom()
        a.two()
    finally:
        a.last()
        a.very_last()
    a.end()


def try_all(a):
    for x in a:
        try:
            if x.a:
                continue
            if x.b:
                x.boom()
        except ValueError:
            if x.c:
                break
            raise
        finally:
            x.last()
    a.end()


def try_nested(a):
    try:
        try:
            if a.x:
                a.boom()
            a.one()
        finally:
            a.inner()
    except ValueError:
        a.caught()
    finally:
        a.outer()


def raise_call(a):
    try:
        raise ValueError(
            a.x
        ) from a.y
    except ValueError:
        a.z()


def assertion(a):
    assert a.x, (
        a.message
        .text()
    )
    assert a.y > 1
    a.end()


def f_string(a, b):
    return f"{a.x} and {b.y:{a.width}} {a!r} {b=}"


def f_string_lines(a, b):
    return f"""
    {a.x}
    {b.y}
    """


def f_string_joined(a, b):
    return (
        f"{a.x} "
        "plain"
        f"{b.y}"
    )


def string_method(a):
    return "{} {}".format(
        a.x,
        1,
    ) + "".join(
        "z"
    )


def spreads(f, a, b):
    f(*a)
    f(*a.x, b.y)
    f(*a, **b)
    f(
        1,
        *a,
        m=a.z,
        **b.w,
    )
    [*a, *b]
    (1, *a)
    {**b, "k": a.v}


def displays(a, b):
    [
        a.x,
        b.y,
    ]
    {
        a.k: b.v,
        a.l: b.w,
    }
    (a.x, b.y)
    {a.x, b.y}


def list_comp(a):
    return [
        x.y
        for x in a.items()
        if x.keep
    ]


def list_comp_nested(a):
    return [[x + y for y in x] for x in a]


def set_comp_two(a, b):
    return {
        x + y
        for x, z in a
        for y in b.c
        if x < y
    }


def dict_comp(a):
    return {
        k.key: k.value
        for k in a
    }


def gen_loop(a):
    for z in (
        x.y
        for x in a.b
        if x
    ):
        z.body()


def gen_made(a, f):
    f(x.y for x in a.b)


def lambdas(a):
    f = lambda x, y=a.default: (
        x.one()
        + y
    )
    return f(
        a
    )


def inner_function(a):
    @a.deco(
        1
    )
    @a.other
    def inner(
        x=a.first,
        *,
        y=a.second,
    ) -> a.third:
        x.never()

    return inner(a)


def inner_called(a):
    def inner(x, y=a.y):
        x.one()
        return x + y
    inner(
        a
    )


def inner_class(a):
    @a.deco
    class Inner:
        x = a.x

        def method(self):
            pass

    return Inner


def inner_base(a):
    class Base:
        y: a.annotation = a.y
    class Inner(
        Base
    ):
        z = a.z()
    return Inner()


def generator(a):
    x = yield a.x
    yield (
        a
        .y
    )
    yield from a
    a.end()


async def coroutine(a):
    async with a.ctx() as x:
        x.body()
    await a.b(
        1
    )
    async for y in a.items():
        y.body()
    a.end()


def annotated(a):
    x: a.never = a.x
    a.y: a.seen = a.z
    x[0]: a.seen = 1


def one_line(a): a.one(); a.two(); return a.three() + a.four(1)


def colon_body(a):
    if a.x: a.one()
    else: a.two()
    for x in a: x.y()
    while a: a.body(); break


def parenthesised(a):
    (
        a
    )(
        1
    )
    (
        a.b
    )(
        1
    )


def multi_target_call(a, b):
    x = y = a.b(
    ) + \
        b.c()


def keyword_long(f, a):
    return f.g(
        a.x,
        key=f.h(
            a.y
        ),
    ).k(
        a.z)


def return_tuple(a, b):
    return (a.x(),
            b.y(),
            a + b)


def return_call_args(f, a):
    return f(a.x,
             a.y +
             a.z)


def super_call(a):
    class Base:
        def run(self, x):
            return x.base()
    class Inner(Base):
        def run(self, x):
            return super().run(
                x.derived()
            )
    return Inner().run(
        a
    )


def method_spread(a):
    a \
        .b(*a)
    a \
        .c(
            **a
        )
    a \
        .d(
            1,
            k=a.x
        )


def condition_mixed(a, b):
    if (
        a.x
        and a < b
        and b.y
        and (
            a
            == b
            or not
            a.z
        )
        and (a.c if
             b.c else a.d)
    ):
        a.then()
    while not (
        a.x or
        a.y
    ):
        break


def comparison_not(a, b):
    x = not a < \
        b
    if not (
        a
        < b
    ):
        a.no()
    return x or not b


def ternary_lines(a, b):
    x = a.f(
        1 if
        a.x
        else b
        .y
    )
    return x, (a if a.z
               else
               b)


def comp_conditions(a, b):
    return [
        x
        for x in a
        if x
        if x.y <
        b
        if not x.z
        and x.w
    ]


def comp_in_call(a, f):
    return f(
        [
            x.y
            for x
            in a
        ],
        {x: f(
            x)
         for x in a},
    )


def gen_two(a):
    for z in (x + y
              for x in a
              for y
              in x.b
              if y):
        pass


def lambda_lines(a):
    f = lambda x: \
        x.a(
            x.b
        ) \
        if x.c else \
        x.d
    return f(a), f(
        a)


def aug_lines(a, b):
    a.x[
        b.i
    ].y *= (
        b.one()
        + b.two()
    )


def with_lines(a):
    with a.one(), \
            a.two():
        for x in a:
            x.body()


def with_in_try(a):
    try:
        with a.ctx():
            a.one()
            if a.x:
                a.boom()
            if a.y:
                return a.early()
    except ValueError:
        a.caught()
    finally:
        a.last()
    a.end()


def finally_loop(a):
    while a:
        try:
            if a.x:
                break
            if a.y:
                continue
            a.body()
        finally:
            for x in a:
                x.last()
    else:
        a.orelse()
    a.end()


def else_reraise(a):
    for x in a:
        try:
            x.one()
        except (ValueError, KeyError):
            continue
        else:
            if x.stop:
                break
            x.boom()


def unpack_for(a):
    for (x, y), *z in a:
        x.a, [y.b, *z] = x


def slices(a, b):
    a[b.x:b.y:b.z] = a[:, None, b.w]
    a[...] += b[-1:]
    del a[b.x:]


def f_string_nested(a, b):
    x = f"{a.x:>{b.w}.{b.p}}", f"{a + b}" f"{a[0]!s:10}"
    return f"""{
        a.y
    } {
        b.z
        :>{
            a.w
        }}"""


def chained_calls_long(a, b):
    y = (a.one(b.x).two(
        b.y, k=b.z).three
        [0].four(
            *b.args)
        .five())
    return y


async def async_comp(a):
    x = [y.z async for y in a if y]
    return await a.b(x), x


def yields(a):
    while a:
        x = a.f((yield a.x))
        try:
            yield x
        finally:
            a.last()


def double_compare(a, b, c):
    while a.x < b.x <= c.x:
        if a == b == c or a in b:
            break
        x = a < b in c
        return x


def decorated(a):
    @a.one
    @a.two(
        1)
    # comment
    def inner(x): return x.y(1)
    @a.three
    async def other(): pass


def dict_lines(a, b):
    return {
        a.x:
            b.x,
        **a,
        "k": [b.y,
              a.y()],
    }


def hashed(a, b):
    x = {
        (a.x, 1, "k"): 2,
        a.y:
            b.y,
        3: b.z,
    }
    return x, {
        b,
        "k",
        a.m,
        *b,
        a.n,
    }


def dict_comp_lines(a, b):
    x = {
        a.
        k:
        a.v(
            b)
        for a in b
    }
    return {
        y(
            b)
        for y in a
        if y
    }


def semicolons(a): x = a.x; x.y(); return x


def starred_targets(a, b):
    x, *a.y, b[0] = a, b, a, b
    for a.i, b.j in a: pass
    return x


def returns_in_with_finally(a):
    with a.one():
        try:
            with a.two():
                return a.three()
        finally:
            a.four()
