import type { Command } from 'commander'
import type { Item } from '../api-client.ts'
import { type Asking, ask, call, list } from '../api-command.ts'
import { confirmDeletion, YES, type YesOption } from '../confirm.ts'
import { add, type Commands } from '../describe.ts'
import { UsageError } from '../exit-codes.ts'
import { numberOption, pairOf } from '../option-parsers.ts'
import { type Columns, count, countOf, printable } from '../text/text-format.ts'

type Reseller = Item<'GET /resellers'>

const COLUMNS: Columns<Reseller> = {
  reseller: 'name',
  share: 'share',
  created: 'createdAt',
  disabled: 'disabledAt',
  lists: 'lists',
  watches: 'watches',
  active: 'active',
}

export const COMMANDS: Commands = { resellers: addResellers }

function addResellers(group: Command): void {
  const one = ['northwind']
  add(group, 'create <name>', 'Create a reseller', { examples: one }).action(
    call('POST /resellers', ({ name }) => `reseller ${printable(name)} created`),
  )
  add(group, 'list', 'List all resellers with the number of their watches', {
    remark: 'Active watches are neither paused nor ended.',
  }).action(list('GET /resellers', { columns: COLUMNS, none: 'no resellers yet' }))
  add(group, 'show <name>', 'Print one reseller', { examples: one }).action(
    call('GET /resellers/{reseller}'),
  )
  add(group, 'update <name>', 'Change the settings of a reseller; what is not given stays', {
    examples: ['northwind --share 2', 'northwind --routes Norway PMI=OSL'],
  })
    .option(
      '--share <n>',
      'from 0.01 to 1000: 2 gets twice as many checks as 1 while both have fares due',
      numberOption(0.01, 1000),
    )
    .option(
      '--routes <names...>',
      'changes of routes in its feed: places as PMI, pairs as PMI-OSL or, in either direction, PMI=OSL, countries as Norway; or none',
    )
    .action(call('PATCH /resellers/{reseller}', undefined, changed))
  add(
    group,
    'disable <name>',
    'Stop all watches of a reseller; its watch lists and its feed stay',
    { examples: one },
  ).action(
    call(
      'POST /resellers/{reseller}/disable',
      ({ name, trackedFaresEnded }) =>
        `reseller ${printable(name)} disabled: ${countOf(trackedFaresEnded, 'tracked fare')} ended`,
    ),
  )
  add(group, 'enable <name>', 'Enable a disabled reseller; its watches begin again', {
    examples: one,
  }).action(
    call('POST /resellers/{reseller}/enable', ({ name }) => `reseller ${printable(name)} enabled`),
  )
  add(group, 'delete <name>', 'Delete a reseller with all that it has, which is counted first', {
    examples: one,
    remark:
      'Its keys, streams and deliveries end at once, and a worker deletes the rest. Fares that others watch stay.',
  })
    .option(...YES)
    .action(ask(remove))
}

interface Changes {
  readonly share?: number
  readonly routes?: readonly string[]
}

function changed(_name: string, { share, routes }: Changes) {
  if (share === undefined && routes === undefined) {
    throw new UsageError('give --share, --routes or both')
  }
  return { share, routes: routes && routesOf(routes) }
}

/** @example routesOf(['Norway', 'PMI=OSL']) // {countries: ['Norway'], pairs: [{departure: 'PMI', …}]} */
function routesOf(names: readonly string[]) {
  if (names.length === 1 && names[0] === 'none') return null
  const pairs = names.flatMap((name) => pairOf(name) ?? [])
  const others = Object.groupBy(
    names.filter((name) => pairOf(name) === undefined),
    (name) => (/^[A-Z0-9]{3}$/.test(name) ? 'places' : 'countries'),
  )
  return { ...others, ...(pairs.length > 0 && { pairs }) }
}

async function remove(
  { api, terminal }: Asking,
  reseller: string,
  options: YesOption,
): Promise<void> {
  const confirmed = (confirm: string | null) =>
    api.call('POST /resellers/{reseller}/delete', { params: { reseller }, body: { confirm } })
  const { contents } = await confirmed(null)
  const held = Object.entries(contents).map(([what, n]) => `${count(n)} ${what}`)
  const whole = `reseller ${printable(reseller)} is deleted with ${held.join(', ')}`
  await confirmDeletion(whole, options)
  const answer = await confirmed(reseller)
  terminal.print(answer, () => whole)
}
