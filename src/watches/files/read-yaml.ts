import {
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type ParsedNode,
  parseDocument,
  type YAMLParseError,
} from 'yaml'
import { quote } from '../../platform/base/text.ts'
import { type Column, isColumn, type RawRow, type RowError } from '../rows/watch-row.ts'
import {
  MalformedWatchFileError,
  readTextBlocks,
  type TextSource,
  UnreadableWatchFileError,
} from './read-text-blocks.ts'

/** Entries that are parsed together. A document of 100,000 entries, parsed whole, takes a gigabyte. */
const PIECE_ENTRIES = 500
/** Limit for a list whose entries do not begin in the first column: it can only be parsed whole. */
const MAX_PIECE_CHARS = 32 * 2 ** 20
/** Each entry of a block list begins with a dash and a space in the first column. No other line begins so. */
const ENTRY_START = /^(?=-[ \n])/m

interface Piece {
  readonly text: string
  /** Its first line in the file, 1-based. */
  readonly firstLine: number
}

/** Streams the entries of a YAML list. Only one piece of the file is in memory. */
export async function* readYaml(source: TextSource): AsyncGenerator<RawRow[]> {
  let empty = true
  for await (const piece of cutPieces(source)) {
    empty = false
    yield readPiece(source.name, piece)
  }
  if (empty) throw new MalformedWatchFileError(source.name, 1, NO_LIST)
}

const NO_LIST = 'the file must be a list of entries that each begin with "- "'

async function* cutPieces(source: TextSource): AsyncGenerator<Piece> {
  let text = ''
  let entries = 0
  let firstLine = 1
  for await (const block of readTextBlocks(source)) {
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
      throw new UnreadableWatchFileError(
        source.name,
        'in a list of this length each entry must begin with "- " at the start of a line',
      )
    }
  }
  if (text !== '') yield { text, firstLine }
}

function readPiece(file: string, { text, firstLine }: Piece): RawRow[] {
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
    const problem =
      error.code === 'MULTIPLE_DOCS'
        ? 'a second document begins here, but the file must be one list'
        : `${error.message}${entryNote(document.contents, { error, line, lineAt })}`
    throw new MalformedWatchFileError(file, line, problem, { cause: error })
  }
  if (!isSeq<ParsedNode>(document.contents)) {
    throw new MalformedWatchFileError(file, lineAt(document.contents?.range[0] ?? 0), NO_LIST)
  }
  return document.contents.items.map((item) => rowOf(item, lineAt))
}

/** The parser reports an unclosed quote at the end of the text. The line of its entry is closer to the mistake. */
function entryNote(
  contents: ParsedNode | null,
  at: { error: YAMLParseError; line: number; lineAt: (offset: number) => number },
): string {
  if (!isSeq<ParsedNode>(contents)) return ''
  const entry = contents.items.findLast((item) => item.range[0] <= at.error.pos[0])
  const entryLine = entry === undefined ? at.line : at.lineAt(entry.range[0])
  return entryLine === at.line ? '' : `, in the entry of line ${entryLine}`
}

function rowOf(item: ParsedNode, lineAt: (offset: number) => number): RawRow {
  const line = lineAt(item.range[0])
  const cells: Partial<Record<Column, string>> = {}
  const cellLines: Partial<Record<Column, number>> = {}
  const errors: RowError[] = []
  if (!isMap<ParsedNode, ParsedNode | null>(item)) {
    const message = 'must consist of columns with values, such as "reference: A-1"'
    return { line, cells, errors: [{ column: 'the entry', message }] }
  }
  for (const { key, value } of item.items) {
    const column = textOf(key)
    if (column === undefined || !isColumn(column)) {
      errors.push({
        column: quote(column ?? String(key)),
        message: 'is not a column of a watch list',
        line: lineAt(key.range[0]),
      })
      continue
    }
    cellLines[column] = lineAt(key.range[0])
    const text = textOf(value)
    if (text === undefined) errors.push({ column, message: 'must be a single value' })
    else cells[column] = text
  }
  return { line, cells, cellLines, errors }
}

/**
 * A value as it is written in the file: 0012 is a flight id and 5.50 a price, not a number. Null is the empty text.
 * Returns undefined if the node is not a single value.
 */
function textOf(node: ParsedNode | null): string | undefined {
  if (node === null) return ''
  if (!isScalar(node)) return undefined
  if (node.value === null) return ''
  return typeof node.value === 'string' ? node.value : node.source
}
