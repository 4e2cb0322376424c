/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* What an iterator over all tasks is called with. */
#pragma once
#include "kernel.h"

struct bpf_iter_meta {
	struct seq_file *seq;
} __attribute__((preserve_access_index));
struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
} __attribute__((preserve_access_index));
