import { createReadStream } from 'node:fs'
import { AppError, messageOf } from '../../platform/base/errors.ts'

const NEWLINE = 0x0a
/** A line must fit into memory. A file without a line break in so many bytes is not a watch list. */
const MAX_LINE_BYTES = 64 * 2 ** 20

/** UTF-8 text, and its name in messages. It can be read more than once. */
export interface TextSource {
  readonly name: string
  read(): AsyncIterable<Buffer>
}

export function textOfFile(file: string): TextSource {
  return { name: file, read: () => readFile(file) }
}

/**
 * Reads a UTF-8 text in blocks of whole lines. Each line ends in a line feed, whatever line ends the file has.
 *
 * Throws MalformedWatchFileError with the line of the first byte that is not UTF-8. A silent replacement could make two
 * references equal.
 */
export async function* readTextBlocks(source: TextSource): AsyncGenerator<string> {
  let line = 1
  let atStart = true
  for await (const bytes of readWholeLines(source)) {
    const text = decode(bytes) ?? failDecoding(source.name, bytes, line)
    yield normalize(atStart ? text.replace(/^\ufeff/, '') : text)
    line += countNewlines(bytes)
    atStart = false
  }
}

async function* readWholeLines({ name, read }: TextSource): AsyncGenerator<Buffer> {
  let pending: Buffer[] = []
  let pendingBytes = 0
  for await (const chunk of read()) {
    const end = chunk.lastIndexOf(NEWLINE) + 1
    if (end > 0) {
      yield Buffer.concat([...pending, chunk.subarray(0, end)])
      pending = []
      pendingBytes = 0
    }
    pending.push(chunk.subarray(end))
    pendingBytes += chunk.length - end
    if (pendingBytes > MAX_LINE_BYTES) {
      throw new UnreadableWatchFileError(name, `a line is longer than ${MAX_LINE_BYTES} bytes`)
    }
  }
  if (pendingBytes > 0) yield Buffer.concat(pending)
}

async function* readFile(file: string): AsyncGenerator<Buffer> {
  try {
    yield* createReadStream(file, { highWaterMark: 256 * 1024 })
  } catch (err) {
    throw new UnreadableWatchFileError(file, messageOf(err), { cause: err })
  }
}

function decode(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

function failDecoding(file: string, bytes: Buffer, firstLine: number): never {
  let line = firstLine
  let start = 0
  for (;;) {
    const end = bytes.indexOf(NEWLINE, start) + 1
    if (end === 0 || decode(bytes.subarray(start, end)) === undefined) break
    line += 1
    start = end
  }
  throw new MalformedWatchFileError(file, line, 'is not UTF-8 text: save the file as UTF-8')
}

/** A carriage return is never part of a value: no value may contain a control character. */
function normalize(text: string): string {
  return text.includes('\r') ? text.replace(/\r\n?/g, '\n') : text
}

function countNewlines(bytes: Buffer): number {
  let count = 0
  for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) count += 1
  return count
}

/** The file does not exist, cannot be read, or is of an unknown kind. */
export class UnreadableWatchFileError extends AppError {
  override readonly name = 'UnreadableWatchFileError'
  override readonly code = 'watch.unreadable_file'

  constructor(file: string, why: string, options?: ErrorOptions) {
    super(`cannot read ${file}: ${why}`, options)
  }
}

/** The file is not a watch list. */
export class MalformedWatchFileError extends AppError {
  override readonly name = 'MalformedWatchFileError'
  override readonly code = 'watch.malformed_file'
  /** The line of the fault, from 1. */
  readonly line: number

  constructor(file: string, line: number, fault: string, options?: ErrorOptions) {
    super(`${file}, line ${line}: ${fault}`, options)
    this.line = line
  }
}
