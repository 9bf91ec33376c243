// ShellExit1, ReceiptDelivery: what the answer of an execution says.
// Source: "shell_exit_1" and "receipt" of a policy. Applied by supervisor/executions/runs/execute_answer.cc. No errors.
#pragma once

namespace policies {

// ShellExit1: the answer for a shell program that ends with status 1 and has written no byte to stderr, which is how
// grep, diff and test say no. answer: a normal answer. error: an error of the tool (isError).
enum class ShellExit1 { answer, error };

// ReceiptDelivery: where the receipt of an execution is. It is always a resource; answer: also in the _meta of each
// answer.
enum class ReceiptDelivery { resource, answer };

}  // namespace policies
