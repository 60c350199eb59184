//! Operators that could use tensor cores: those that autocast runs in half, and what they are made of.

/// Names of operators, with those of their backward nodes. From `autocast_mode.h` of PyTorch
/// (`AT_FORALL_LOWER_PRECISION_FP`), with what these dispatch to.
const ELIGIBLE: &[&str] = &[
    "aten::_convolution",
    "aten::_scaled_dot_product_cudnn_attention",
    "aten::_scaled_dot_product_efficient_attention",
    "aten::_scaled_dot_product_flash_attention",
    "aten::_thnn_fused_gru_cell",
    "aten::_thnn_fused_lstm_cell",
    "aten::addbmm",
    "aten::addmm",
    "aten::addmm_",
    "aten::addmv",
    "aten::addr",
    "aten::baddbmm",
    "aten::bmm",
    "aten::chain_matmul",
    "aten::conv1d",
    "aten::conv2d",
    "aten::conv3d",
    "aten::conv_tbc",
    "aten::conv_transpose1d",
    "aten::conv_transpose2d",
    "aten::conv_transpose3d",
    "aten::convolution",
    "aten::convolution_backward",
    "aten::cudnn_convolution",
    "aten::cudnn_convolution_backward",
    "aten::cudnn_convolution_backward_input",
    "aten::cudnn_convolution_backward_weight",
    "aten::cudnn_convolution_transpose",
    "aten::cudnn_convolution_transpose_backward",
    "aten::cudnn_convolution_transpose_backward_input",
    "aten::cudnn_convolution_transpose_backward_weight",
    "aten::gru_cell",
    "aten::linalg_multi_dot",
    "aten::linear",
    "aten::lstm_cell",
    "aten::matmul",
    "aten::miopen_convolution",
    "aten::mm",
    "aten::mv",
    "aten::prelu",
    "aten::rnn_relu_cell",
    "aten::rnn_tanh_cell",
    "aten::scaled_dot_product_attention",
];

/// Whether the operator `name` could use tensor cores.
pub(crate) fn is_eligible(name: &str) -> bool {
    ELIGIBLE.binary_search(&name).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_in_order() {
        assert!(ELIGIBLE.is_sorted());
        assert!(is_eligible("aten::mm") && !is_eligible("aten::mul"));
    }
}
