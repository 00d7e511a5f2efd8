import { createReadStream, createWriteStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { PassThrough } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import type { Question } from '../../src/upstream/question.ts'
import type { Wire } from './answers.ts'

/** One line of a stream: what was asked when, and what arrived. */
export interface StreamLine {
  readonly fare: number
  readonly question: Question
  /** When the request began, in milliseconds since 1970. */
  readonly atMs: number
  /** From the request to the end of the answer, in milliseconds; missing for 0. */
  readonly tookMs?: number
  readonly wire: Wire
  /** What was wrong then, where it is known. */
  readonly cause?: string
}

export interface StreamWriter {
  write(line: StreamLine): void
  close(): Promise<void>
}

/** Writes answers as lines of JSON, compressed. */
export function createStreamWriter(file: string): StreamWriter {
  const lines = new PassThrough({ highWaterMark: 2 ** 24 })
  const written = pipeline(lines, createGzip({ level: 1 }), createWriteStream(file))
  return {
    write: (line) => void lines.write(`${JSON.stringify(line)}\n`),
    close: async () => {
      lines.end()
      await written
    },
  }
}

export async function* readStream(file: string): AsyncGenerator<StreamLine> {
  const text = createReadStream(file).pipe(createGunzip())
  for await (const line of createInterface({ input: text })) yield JSON.parse(line) as StreamLine
}
