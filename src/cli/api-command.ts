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
import { type Columns, tableText } from './text/text-format.ts'

/** How an answer is shown: by its columns, or as text. */
export type Show<T, Given extends unknown[] = never> =
  | Columns<T>
  | ((answer: T, terminal: Pick<Terminal, 'width'>, ...given: Given) => string)

/** The action of a command that makes one request and prints the answer. */
export function call<O extends Operation, Given extends unknown[]>(
  operation: O,
  request: (...given: Given) => Call | Promise<Call>,
  show: Show<Answer<O>, Given>,
) {
  return act(async (...given: Given) => {
    const options = given.at(-1) as ProgramOptions
    const asked = await request(...given)
    const answer = await withApi(options, (api) => api.call(operation, asked))
    const terminal = createTerminal(process, options)
    terminal.print(answer, () =>
      typeof show === 'function'
        ? show(answer, terminal, ...given)
        : tableText(show, [answer], terminal.width),
    )
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
  { query = {}, ...call }: Call,
): Promise<readonly Item<O>[]> {
  const items: Item<O>[] = []
  const most = typeof query.limit === 'number' ? query.limit : Number.POSITIVE_INFINITY
  let cursor: string | undefined
  do {
    const limit = Number.isFinite(most) ? Math.min(MOST_ON_PAGE, most - items.length) : undefined
    const asked = { ...call, query: { ...query, limit, cursor } }
    const page = (await api.call(operation, asked)) as Page<Item<O>>
    items.push(...page.items)
    cursor = page.next ?? undefined
  } while (cursor !== undefined && items.length < most)
  return items
}
