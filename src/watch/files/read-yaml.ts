import {
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type ParsedNode,
  parseDocument,
  type YAMLParseError,
} from 'yaml'
import { quote } from '../../base/text.ts'
import { MalformedWatchFileError, UnreadableWatchFileError } from '../rows/watch-errors.ts'
import { type Column, type Fault, isColumn, type WrittenRow } from '../rows/written-row.ts'
import { readTextBlocks } from './read-text-blocks.ts'

/** Parsed at a time: a whole document of 100,000 entries would take a gigabyte. */
const PIECE_ENTRIES = 500
/** Of a list whose entries do not begin in the first column, which can only be parsed whole. */
const MAX_PIECE_CHARS = 32 * 2 ** 20
/** In a block list an entry begins in the first column, and nothing else does that begins with a dash and a space. */
const ENTRY_START = /^(?=-[ \n])/m

interface Piece {
  readonly text: string
  /** Where it begins in the file, 1-based. */
  readonly firstLine: number
}

/** Reads the entries of a YAML list, a piece of the file at a time. */
export async function* readYaml(file: string): AsyncGenerator<WrittenRow[]> {
  let empty = true
  for await (const piece of cutPieces(file)) {
    empty = false
    yield readPiece(file, piece)
  }
  if (empty) throw new MalformedWatchFileError(file, 1, NO_LIST)
}

const NO_LIST = 'there must be a list of entries, each beginning with "- "'

async function* cutPieces(file: string): AsyncGenerator<Piece> {
  let text = ''
  let entries = 0
  let firstLine = 1
  for await (const block of readTextBlocks(file)) {
    for (const part of block.split(ENTRY_START)) {
      const isEntry = /^-[ \n]/.test(part)
      if (isEntry && entries === PIECE_ENTRIES) {
        yield { text, firstLine }
        firstLine += text.split('\n').length - 1
        text = ''
        entries = 0
      }
      if (isEntry) entries += 1
      text += part
    }
    if (text.length > MAX_PIECE_CHARS) {
      throw new UnreadableWatchFileError(file, 'each entry of so long a list must begin with "- "')
    }
  }
  if (text !== '') yield { text, firstLine }
}

function readPiece(file: string, { text, firstLine }: Piece): WrittenRow[] {
  const lines = new LineCounter()
  const lineAt = (offset: number) => lines.linePos(offset).line + firstLine - 1
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    logLevel: 'error',
  })
  const [error] = document.errors
  if (error !== undefined) {
    const line = lineAt(error.pos[0])
    const said = `${error.message}${entryNote(document.contents, { error, line, lineAt })}`
    throw new MalformedWatchFileError(file, line, said, { cause: error })
  }
  if (!isSeq<ParsedNode>(document.contents)) {
    throw new MalformedWatchFileError(file, firstLine, NO_LIST)
  }
  return document.contents.items.map((item) => rowOf(item, lineAt(item.range[0])))
}

/** A quote that is not closed is missed only where the text ends: the entry tells where to look. */
function entryNote(
  contents: ParsedNode | null,
  at: { error: YAMLParseError; line: number; lineAt: (offset: number) => number },
): string {
  if (!isSeq<ParsedNode>(contents)) return ''
  const entry = contents.items.findLast((item) => item.range[0] <= at.error.pos[0])
  const entryLine = entry === undefined ? at.line : at.lineAt(entry.range[0])
  return entryLine === at.line ? '' : `, in the entry of line ${entryLine}`
}

function rowOf(item: ParsedNode, line: number): WrittenRow {
  const cells: Partial<Record<Column, string>> = {}
  const faults: Fault[] = []
  if (!isMap<ParsedNode, ParsedNode | null>(item)) {
    const says = 'must be columns with values, such as "reference: A-1"'
    return { line, cells, faults: [{ column: 'the entry', says }] }
  }
  for (const { key, value } of item.items) {
    const column = textOf(key)
    if (column === undefined || !isColumn(column)) {
      faults.push({ column: quote(column ?? String(key)), says: 'is no column of a watch list' })
      continue
    }
    const text = textOf(value)
    if (text === undefined) faults.push({ column, says: 'must be a single value' })
    else cells[column] = text
  }
  return { line, cells, faults }
}

/**
 * A value as it is written: 0012 is a flight id, and 5.50 a price, not a number. Null is the empty text; undefined
 * is no single value.
 */
function textOf(node: ParsedNode | null): string | undefined {
  if (node === null) return ''
  if (!isScalar(node)) return undefined
  if (node.value === null) return ''
  return typeof node.value === 'string' ? node.value : node.source
}
