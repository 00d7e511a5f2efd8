import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { ByteWriter, type ColumnSource, ParquetWriter } from 'hyparquet-writer'
import { type ExportColumn, ExportError, type ExportType } from './public-tables.ts'

type SchemaElement = ConstructorParameters<typeof ParquetWriter>[0]['schema'][number]
/** The text of a value, as PostgreSQL writes it. */
export type Cell = string | null

/** Digits after the point of a decimal: money and shares have at most four. */
const SCALE = 4

const ELEMENTS: Readonly<Record<ExportType, Omit<SchemaElement, 'name'>>> = {
  boolean: { type: 'BOOLEAN' },
  int32: { type: 'INT32' },
  int64: { type: 'INT64' },
  double: { type: 'DOUBLE' },
  decimal: { type: 'INT64', converted_type: 'DECIMAL', precision: 18, scale: SCALE },
  instant: {
    type: 'INT64',
    converted_type: 'TIMESTAMP_MICROS',
    logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' },
  },
  local_time: {
    type: 'INT64',
    logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: false, unit: 'MICROS' },
  },
  date: { type: 'INT32', converted_type: 'DATE' },
  json: { type: 'BYTE_ARRAY', converted_type: 'JSON', logical_type: { type: 'JSON' } },
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
}

/** The value of a cell as the Parquet library takes it. */
const READERS: Readonly<Record<ExportType, (text: string) => unknown>> = {
  boolean: (text) => text === 't',
  int32: Number,
  int64: BigInt,
  double: Number,
  decimal: unscaled,
  instant: BigInt,
  local_time: BigInt,
  date: Number,
  // The library writes an object as JSON and a string as a JSON string.
  json: (text) => JSON.parse(text) as unknown,
  text: (text) => text,
}

/**
 * Writes rows of cells as one Parquet file, each call as a row group. Instants, local times and dates come as numbers:
 * microseconds and days since 1970.
 */
export function parquetWriter(out: Writable, columns: readonly ExportColumn[]) {
  const writer = new StreamWriter(out)
  const schema = [
    { name: 'root', num_children: columns.length },
    ...columns.map(({ name, type }) => ({
      name,
      repetition_type: 'OPTIONAL' as const,
      ...ELEMENTS[type],
    })),
  ]
  const parquet = new ParquetWriter({ writer, schema, createdBy: 'farewatch' })
  return {
    write: async (rows: readonly (readonly Cell[])[]) => {
      const columnData = columns.map(({ name, type }, at) => ({
        name,
        data: rows.map((row) => {
          const cell = row[at] ?? null
          return cell === null ? null : READERS[type](cell)
        }),
      })) as ColumnSource[]
      if (rows.length > 0) await parquet.write({ columnData, rowGroupSize: rows.length })
    },
    finish: async () => parquet.finish(),
  }
}

/**
 * A decimal as a whole number of its last digit. Throws ExportError rather than round.
 * @example unscaled('-1.5') // -15000n
 */
function unscaled(text: string): bigint {
  const [whole = '', digits = ''] = text.split('.')
  const kept = digits.replace(/0+$/, '')
  if (kept.length > SCALE || !/^-?\d{1,14}$/.test(whole) || !/^\d*$/.test(kept)) {
    throw new ExportError(
      `the number ${text} does not fit a decimal of 18 digits, ${SCALE} after the point`,
    )
  }
  return BigInt(whole + kept.padEnd(SCALE, '0'))
}

/** Hands over what was written after each row group, and waits while the stream is full. */
class StreamWriter extends ByteWriter {
  readonly #out: Writable

  constructor(out: Writable) {
    super()
    this.#out = out
  }

  async flush(): Promise<void> {
    const bytes = Buffer.from(this.buffer.slice(0, this.index))
    this.index = 0
    await writeTo(this.#out, bytes)
  }

  override finish(): Promise<void> {
    return this.flush()
  }
}

/** Writes a chunk, and waits while its reader is behind. Throws if the reader leaves. */
export async function writeTo(out: Writable, chunk: string | Buffer): Promise<void> {
  if (out.write(chunk)) return
  const waiting = new AbortController()
  const { signal } = waiting
  const drained = Promise.race([once(out, 'drain', { signal }), finished(out, { signal })])
  await drained.finally(() => waiting.abort())
}
