import {
  type Answer,
  type Api,
  type Call,
  type Item,
  type Operation,
  withApi,
} from './api-client.ts'
import { act, type ProgramOptions } from './describe.ts'
import { createTerminal, type Terminal } from './terminal.ts'
import { type Columns, recordText, tableText } from './text/text-format.ts'

/** The text of an answer. */
type Show<T, Given extends unknown[]> = (
  answer: T,
  terminal: Pick<Terminal, 'width'>,
  ...given: Given
) => string

/** The action of a command that makes one request and prints the answer, as a record if nothing else is given. */
export function call<O extends Operation, Given extends unknown[]>(
  operation: O,
  request: (...given: Given) => Call | Promise<Call>,
  show?: Show<Answer<O>, Given>,
) {
  return act(async (...given: Given) => {
    const options = given.at(-1) as ProgramOptions
    const asked = await request(...given)
    const answer = await withApi(options, (api) => api.call(operation, asked))
    const terminal = createTerminal(process, options)
    const text = () => show?.(answer, terminal, ...given) ?? recordText(answer, terminal.width)
    terminal.print(answer, text)
  })
}

interface Listed<T> {
  readonly columns: Columns<T>
  /** What is printed of an empty list. */
  readonly none: string
}

/** The action of a command that prints a list. */
export function list<O extends Operation, Given extends unknown[]>(
  operation: O,
  request: (...given: Given) => Call,
  listed: Listed<Item<O>>,
) {
  return act((...given: Given) =>
    printList(operation, request(...given), listed, given.at(-1) as ProgramOptions),
  )
}

export async function printList<O extends Operation>(
  operation: O,
  call: Call,
  { columns, none }: Listed<Item<O>>,
  options: ProgramOptions,
): Promise<void> {
  const items = await withApi(options, (api) => readAll(api, operation, call))
  const terminal = createTerminal(process, options)
  terminal.printRows(items, () =>
    items.length === 0 ? none : tableText(columns, items, terminal.width),
  )
}

const MOST_ON_PAGE = 1_000

interface Page<T> {
  readonly items: readonly T[]
  readonly next: string | null
}

/** The items of a list, from as many pages as they need; at most `limit` of its query. */
export async function readAll<O extends Operation>(
  api: Api,
  operation: O,
  call: Call,
): Promise<readonly Item<O>[]> {
  const items: Item<O>[] = []
  for await (const page of readPages(api, operation, call)) items.push(...page)
  return items
}

/** As `readAll`, page by page. */
export async function* readPages<O extends Operation>(
  api: Api,
  operation: O,
  { query = {}, ...call }: Call,
): AsyncGenerator<readonly Item<O>[]> {
  let left = typeof query.limit === 'number' ? query.limit : undefined
  let cursor: string | undefined
  do {
    const limit = left === undefined ? undefined : Math.min(MOST_ON_PAGE, left)
    const asked = { ...call, query: { ...query, limit, cursor } }
    const { items, next } = (await api.call(operation, asked)) as Page<Item<O>>
    yield items
    if (left !== undefined) left -= items.length
    cursor = next ?? undefined
  } while (cursor !== undefined && left !== 0)
}
