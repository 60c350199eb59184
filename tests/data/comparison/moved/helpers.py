def norms(model):
    total = 0.0
    for parameter in model.parameters():
        total += float(parameter.detach().norm())
    return total


def count_hits(
    logits,
    target,
):
    right = 0
    best = logits.argmax(dim=-1)
    for row in range(0, best.shape[0], 8):
        if (
            best[row].item()
            == target[row].item()
        ):
            right += 1
    return right
