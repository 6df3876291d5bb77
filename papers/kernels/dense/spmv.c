/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spmv: product of a sparse matrix and a vector, as in OpenDwarfs: compressed sparse rows, one work-item per
 * row. The graph says where the matrix has elements (a matrix in a Matrix Market file becomes symmetric, and
 * its diagonal goes); their values follow from the seed.
 */
#include "dense.h"

enum { ROWS, COLUMNS, VALUES, VECTOR, PRODUCT };

static const struct nvw_option options[] = {
	DENSE_GRAPH_OPTION("rmat:13:8"),
	DENSE_OPTIONS_END,
};

static void spmv_shape(struct dense_plan *p)
{
	dense_array_graph(p, ROWS);
	dense_read_only(p, VALUES, DENSE_FLOAT, p->array[COLUMNS].count, "values");
	dense_read_only(p, VECTOR, DENSE_FLOAT, p->graph.nodes, "vector");
	dense_written(p, PRODUCT, DENSE_FLOAT, p->graph.nodes, "product");
}

static void spmv_fill(struct dense_plan *p)
{
	dense_fill_real(p, VALUES, -1, 1);
	dense_fill_real(p, VECTOR, -1, 1);
}

struct args {
	const uint32_t *rows, *columns;
	const float *values, *vector;
	float *product;
	uint64_t row_count;
};

DENSE_ITEMS(spmv_row, a, row, a->row_count)
{
	float sum = 0;

	DENSE_ARCS(i, a, row) {
		const uint32_t column = nvw_load_read_only(&a->columns[i]);

		sum += nvw_load_read_only(&a->values[i]) * nvw_load_read_only(&a->vector[column]);
	}
	nvw_store(&a->product[row], sum);
}

static int spmv_run(struct dense_plan *p)
{
	const struct args args = {.rows = p->device[ROWS],
		.columns = p->device[COLUMNS],
		.values = p->device[VALUES],
		.vector = p->device[VECTOR],
		.product = p->device[PRODUCT],
		.row_count = p->graph.nodes};

	return dense_launch(p, spmv_row, &args, args.row_count);
}

static void spmv_expect(struct dense_plan *p)
{
	const struct graph *const g = &p->graph;
	const float *const values = p->expected[VALUES], *const vector = p->expected[VECTOR];
	float *const product = p->expected[PRODUCT];

	assert(p->array[VALUES].count >= g->arcs);
	NVW_FOR(row, g->nodes) {
		GRAPH_EACH(i, g, row) {
			product[row] += values[i] * vector[g->column[i]];
		}
	}
}

DENSE_WORKLOAD(spmv, "spmv", "product of a sparse matrix and a vector");
