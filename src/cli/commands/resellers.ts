import type { Command } from 'commander'
import { type Api, type Call, type Item, withApi } from '../api-client.ts'
import { call, list } from '../api-command.ts'
import { confirmDeletion, YES, type YesOption } from '../confirm.ts'
import { act, add, type Commands, type ProgramOptions } from '../describe.ts'
import { UsageError } from '../exit-codes.ts'
import { numberOption, pairOf } from '../option-parsers.ts'
import { createTerminal } from '../terminal.ts'
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

const named = (reseller: string) => ({ params: { reseller } })

export const COMMANDS: Commands = { resellers: addResellers }

function addResellers(group: Command): void {
  const one = ['northwind']
  add(group, 'create <name>', 'Create a reseller', { examples: one }).action(
    call(
      'POST /resellers',
      (name: string) => ({ body: { name } }),
      ({ name }) => `reseller ${printable(name)} created`,
    ),
  )
  add(group, 'list', 'List all resellers with the number of their watches', {
    remark: 'Active watches are neither paused nor ended.',
  }).action(list('GET /resellers', () => ({}), { columns: COLUMNS, none: 'no resellers yet' }))
  add(group, 'show <name>', 'Print one reseller', { examples: one }).action(
    call('GET /resellers/{reseller}', named),
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
    .action(call('PATCH /resellers/{reseller}', changed))
  add(
    group,
    'disable <name>',
    'Stop all watches of a reseller; its watch lists and its feed stay',
    { examples: one },
  ).action(
    call(
      'POST /resellers/{reseller}/disable',
      named,
      ({ name, trackedFaresEnded }) =>
        `reseller ${printable(name)} disabled: ${countOf(trackedFaresEnded, 'tracked fare')} ended`,
    ),
  )
  add(group, 'enable <name>', 'Enable a disabled reseller; its watches begin again', {
    examples: one,
  }).action(
    call(
      'POST /resellers/{reseller}/enable',
      named,
      ({ name }) => `reseller ${printable(name)} enabled`,
    ),
  )
  add(group, 'delete <name>', 'Delete a reseller with all that it has, which is counted first', {
    examples: one,
    remark:
      'Its keys, streams and deliveries end at once, and a worker deletes the rest. Fares that others watch stay.',
  })
    .option(...YES)
    .action(act(remove))
}

interface Changes {
  readonly share?: number
  readonly routes?: readonly string[]
}

function changed(name: string, { share, routes }: Changes): Call {
  if (share === undefined && routes === undefined) {
    throw new UsageError('give --share, --routes or both')
  }
  return { ...named(name), body: { share, routes: routes && routesOf(routes) } }
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

function remove(name: string, options: ProgramOptions & YesOption): Promise<void> {
  return withApi(options, async (api) => {
    const { contents } = await deletion(api, name, null)
    const held = Object.entries(contents).map(([what, n]) => `${count(n)} ${what}`)
    const whole = `reseller ${printable(name)} is deleted with ${held.join(', ')}`
    await confirmDeletion(whole, options)
    const answer = await deletion(api, name, name)
    createTerminal(process, options).print(answer, () => whole)
  })
}

function deletion(api: Api, name: string, confirm: string | null) {
  return api.call('POST /resellers/{reseller}/delete', { ...named(name), body: { confirm } })
}
