/* SPDX-License-Identifier: Apache-2.0 */
/* The two shapes of a batch: views, decoded one by one, and pieces of bytes. */
#include "runtime/batch.h"

#include "sdk/log/log_record.h"
#include "sdk/trace/span_record.h"

#include <string.h>

enum { INLINE_PIECES = 16 };

bool sp_exporter_ops_read(const spool_exporter *exporter, spool_exporter_ops *out_ops) {
    memset(out_ops, 0, sizeof *out_ops);
    if (!exporter->ops) {
        return false;
    }
    size_t size = exporter->ops->struct_size;
    memcpy(out_ops, exporter->ops, size < sizeof *out_ops ? size : sizeof *out_ops);
    out_ops->max_in_flight = out_ops->max_in_flight ? out_ops->max_in_flight : 1;
    return out_ops->export_batch != NULL;
}

/* ---- making ---- */

void sp_batch_init_block(spool_batch *batch, uint32_t signal, const spool_resource_data *resource,
                         sp_block *block) {
    memset(batch, 0, sizeof *batch);
    batch->signal = signal;
    batch->resource = resource;
    batch->block = block;
    batch->count = block->count;
    batch->pieces = block->pieces;
    batch->piece_count = block->piece_count;
    batch->size = block->size;
}

void sp_batch_init_record(spool_batch *batch, const spool_resource_data *resource,
                          const sp_batch_record *record) {
    memset(batch, 0, sizeof *batch);
    batch->signal = record->span ? SPOOL_SIGNAL_SPANS : SPOOL_SIGNAL_LOGS;
    batch->resource = resource;
    batch->borrowed = true;
    batch->count = 1;
    batch->record = *record;
}

void sp_batch_fini(spool_batch *batch) {
    sp_arena_fini(&batch->arena);
}

/* ---- what it is ---- */

uint64_t spool_batch_id(const spool_batch *batch) {
    return batch ? batch->id : 0;
}

uint32_t spool_batch_signal(const spool_batch *batch) {
    return batch ? batch->signal : SPOOL_SIGNAL_SPANS;
}

size_t spool_batch_count(const spool_batch *batch) {
    return batch ? batch->count : 0;
}

const spool_resource_data *spool_batch_resource(const spool_batch *batch) {
    return batch ? batch->resource : NULL;
}

bool spool_batch_is_borrowed(const spool_batch *batch) {
    return batch && batch->borrowed;
}

bool spool_batch_failed(const spool_batch *batch) {
    return batch && batch->failed;
}

/* ---- views ---- */

void spool_batch_rewind(spool_batch *batch) {
    if (batch) {
        memset(&batch->cursor, 0, sizeof batch->cursor);
        batch->record.given = false;
        batch->failed = false;
    }
}

static void enter_chunk(sp_batch_cursor *cursor, const sp_chunk *chunk) {
    cursor->chunk = chunk;
    cursor->rest.bytes = chunk ? chunk->bytes : NULL;
    cursor->rest.len = chunk ? chunk->used : 0;
}

/* The next record's message and its scope; false after the last. */
static bool next_message(spool_batch *batch, sp_wire_piece *out_message,
                         const sp_scope **out_scope) {
    sp_batch_cursor *cursor = &batch->cursor;
    const sp_block *block = batch->block;
    if (!cursor->started) {
        cursor->started = true;
        enter_chunk(cursor, block->group_count ? block->groups[0].first : NULL);
    }
    while (cursor->group < block->group_count) {
        uint32_t key;
        uint64_t number;
        if (cursor->chunk && sp_wire_next_field(&cursor->rest, &key, out_message, &number)) {
            *out_scope = block->groups[cursor->group].scope;
            return true;
        }
        if (cursor->chunk && cursor->chunk->next) {
            enter_chunk(cursor, cursor->chunk->next);
        } else if (++cursor->group < block->group_count) {
            enter_chunk(cursor, block->groups[cursor->group].first);
        }
    }
    return false;
}

const spool_span_data *spool_batch_next_span(spool_batch *batch) {
    if (!batch || batch->signal != SPOOL_SIGNAL_SPANS || batch->failed) {
        return NULL;
    }
    if (batch->borrowed) {
        if (batch->record.given) {
            return NULL;
        }
        batch->record.given = true;
        const spool_span_data *data = spool_span_record_data(batch->record.span);
        batch->failed = data == NULL;
        return data;
    }
    sp_wire_piece message;
    const sp_scope *scope;
    if (!next_message(batch, &message, &scope)) {
        return NULL;
    }
    sp_arena_reset(&batch->arena);
    if (!sp_wire_read_span(message, &batch->arena, &batch->view.span)) {
        batch->failed = true;
        return NULL;
    }
    batch->view.span.scope = &scope->view;
    batch->view.span.resource = batch->resource;
    return &batch->view.span;
}

const spool_log_data *spool_batch_next_log(spool_batch *batch) {
    if (!batch || batch->signal != SPOOL_SIGNAL_LOGS || batch->failed) {
        return NULL;
    }
    if (batch->borrowed) {
        const spool_log_data *log = batch->record.given ? NULL : batch->record.log;
        batch->record.given = true;
        return log;
    }
    sp_wire_piece message;
    const sp_scope *scope;
    if (!next_message(batch, &message, &scope)) {
        return NULL;
    }
    sp_arena_reset(&batch->arena);
    if (!sp_wire_read_log(message, &batch->arena, &batch->view.log)) {
        batch->failed = true;
        return NULL;
    }
    batch->view.log.scope = &scope->view;
    batch->view.log.resource = batch->resource;
    return &batch->view.log;
}

/* ---- bytes ---- */

sp_wire_piece sp_batch_encode_span(spool_span_record *span, sp_scratch *scratch) {
    sp_wire_piece record = {NULL, 0}, inline_pieces[INLINE_PIECES], *pieces = inline_pieces;
    sp_wire_span wire;
    size_t count = sp_span_record_wire(span, &wire, pieces, INLINE_PIECES);
    if (count > INLINE_PIECES) {
        pieces = sp_scratch_alloc(scratch, count * sizeof *pieces);
        if (!pieces) {
            return record;
        }
        (void)sp_span_record_wire(span, &wire, pieces, count);
    }
    size_t size = sp_wire_span_size(&wire);
    uint8_t *bytes = sp_scratch_alloc(scratch, size);
    if (bytes) {
        (void)sp_wire_span_write(bytes, &wire);
        record.bytes = bytes;
        record.len = size;
    }
    return record;
}

sp_wire_piece sp_batch_encode_log(const spool_log_data *log, sp_scratch *scratch) {
    sp_wire_piece record = {NULL, 0};
    sp_wire_log_plan plan;
    size_t size = sp_wire_log_size(log, sp_log_data_limits(log), scratch, &plan);
    uint8_t *bytes = size ? sp_scratch_alloc(scratch, size) : NULL;
    if (bytes) {
        (void)sp_wire_log_write(bytes, log, &plan);
        record.bytes = bytes;
        record.len = size;
    }
    return record;
}

static void encode_record(spool_batch *batch) {
    const sp_batch_record *from = &batch->record;
    sp_wire_piece record = from->span ? sp_batch_encode_span(from->span, from->scratch)
                                      : sp_batch_encode_log(from->log, from->scratch);
    const sp_scope *scope =
        from->span ? sp_span_record_scope(from->span) : sp_log_data_scope(from->log);
    spool_str url = batch->resource ? batch->resource->schema_url : spool_str_n(NULL, 0);
    uint8_t *envelope = sp_scratch_alloc(from->scratch, SP_SINGLE_ENVELOPE_BYTES + url.len +
                                                            scope->view.schema_url.len);
    if (!record.bytes || !envelope) {
        batch->failed = true;
        return;
    }
    batch->piece_count = sp_block_single(from->resource, url, scope, record, envelope,
                                         batch->single_pieces, &batch->size);
    batch->pieces = batch->single_pieces;
}

size_t spool_batch_pieces(spool_batch *batch, const spool_batch_piece **out_pieces) {
    if (!batch || !out_pieces) {
        return 0;
    }
    if (!batch->pieces && batch->borrowed) {
        encode_record(batch);
    }
    *out_pieces = batch->pieces;
    return batch->piece_count;
}

size_t spool_batch_size(spool_batch *batch) {
    const spool_batch_piece *pieces;
    return spool_batch_pieces(batch, &pieces) ? batch->size : 0;
}
