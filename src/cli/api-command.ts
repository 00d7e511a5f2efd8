import type { Command } from 'commander'
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

export interface Asking {
  readonly api: Api
  readonly terminal: Terminal
}

/** The action of a command that calls the API. */
export function ask<Given extends unknown[]>(
  work: (asking: Asking, ...given: Given) => Promise<unknown>,
) {
  return act((...given: Given) => {
    const [options] = lastOf(given)
    const terminal = createTerminal(process, options)
    return withApi(options, (api) => work({ api, terminal }, ...given))
  })
}

/** The text of an answer. */
type Show<T, Given extends unknown[]> = (
  answer: T,
  terminal: Pick<Terminal, 'width'>,
  ...given: Given
) => string

/** The operation of a command, or how its words choose it. */
type Chosen<O, Given extends unknown[]> = O | ((...given: Given) => O)

/** The members of a request, where they are not the words of the command themselves. */
type Members<Given extends unknown[]> = (...given: Given) => object | Promise<object>

/**
 * The action of a command that makes one request and prints the answer, as a record if nothing else is given.
 * @param query what the address has besides a body.
 */
export function call<O extends Operation, Given extends unknown[], Shown extends unknown[]>(
  chosen: Chosen<O, Given>,
  show?: Show<Answer<O>, Shown>,
  members?: Members<Given>,
  query: Call['query'] = {},
) {
  return ask(async ({ api, terminal }, ...given: Given) => {
    const operation = typeof chosen === 'string' ? chosen : chosen(...given)
    const asked = requestOf(operation, given, await members?.(...given))
    const answer = await api.call(operation, { ...asked, query: { ...asked.query, ...query } })
    terminal.print(
      answer,
      () =>
        show?.(answer, terminal, ...(given as unknown[] as Shown)) ??
        recordText(answer, terminal.width),
    )
  })
}

interface Listed<T> {
  readonly columns: Columns<T>
  /** What is printed of an empty list. */
  readonly none: string
}

/** The action of a command that prints a list. */
export function list<O extends Operation>(
  chosen: Chosen<O, [ListOptions]>,
  { columns, none }: Listed<Item<O>>,
) {
  return ask(async ({ api, terminal }, ...given: [ListOptions]) => {
    const operation = typeof chosen === 'string' ? chosen : chosen(...given)
    const items = await readAll(api, operation, requestOf(operation, given))
    terminal.printRows(items, () =>
      items.length === 0 ? none : tableText(columns, items, terminal.width),
    )
  })
}

interface ListOptions extends ProgramOptions {
  /** Of whom a list is; unset: of all. */
  readonly reseller?: string
}

/** The last of what an action is given. */
function lastOf(given: readonly unknown[]): [ListOptions, Command] {
  return given.slice(-2) as [ListOptions, Command]
}

/** Options that are no member of a request. */
const APART = ['reseller', 'operator', 'yes', 'json', 'output', 'wide', 'database']

/**
 * The request that the words of a command make. A place of the path is the option of its name, or the next argument. The
 * other arguments and options are members of the query or the body, by their names; `--reseller` is the reseller.
 */
function requestOf(operation: Operation, words: readonly unknown[], given?: object): Call {
  const [, command] = lastOf(words)
  const { registeredArguments, processedArgs } = command
  const options = command.optsWithGlobals()
  const left = processedArgs.map(
    (value, i) => [registeredArguments[i]?.name() ?? '', value] as const,
  )
  const places = [...operation.matchAll(/\{(\w+)\}/g)].map(([, place = '']) => place)
  const params = Object.fromEntries(
    places.map((place) => [place, options[place] ?? left.shift()?.[1]]),
  )
  const others = Object.entries(options).filter(
    ([name]) => !(name in params || APART.includes(name)),
  )
  const members = given ?? Object.fromEntries([...left, ...others])
  const isRead = /^(GET|DELETE) /.test(operation)
  const reseller = 'reseller' in { ...params, ...members } ? undefined : options.reseller
  if (isRead) return { params, reseller, query: members as NonNullable<Call['query']> }
  return { params, reseller, ...(Object.keys(members).length > 0 && { body: members }) }
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
