import { type Command, Option } from 'commander'
import { BELIEF_STATES, WATCH_STATUSES } from '../../platform/base/kinds.ts'
import type { Answer } from '../api-client.ts'
import { call, list } from '../api-command.ts'
import { confirmDeletion, YES, type YesOption } from '../confirm.ts'
import { add, type Commands, load } from '../describe.ts'
import { UsageError } from '../exit-codes.ts'
import { dayOption, pairOf } from '../option-parsers.ts'
import {
  addTermOptions,
  hasTerms,
  questionOfOptions,
  type TermOptions,
} from '../question-options.ts'
import { count, countOf, printable } from '../text/text-format.ts'

interface SelectOptions extends YesOption {
  readonly reseller: string
  readonly list: string
  readonly reference?: readonly string[]
}

interface AddOptions extends TermOptions {
  readonly reseller: string
  readonly list: string
  readonly reference?: string
  readonly return?: string
}

export const COMMANDS: Commands = { 'watch-lists': addWatchLists }

function addWatchLists(lists: Command): void {
  const command = (name: string, about: string, args = '', remark = '') =>
    add(lists, name, about, {
      examples: [
        args.startsWith('>') ? `--reseller northwind ${args}` : `${args}--reseller northwind`,
      ],
      remark,
    }).requiredOption('--reseller <name>', 'the owner of the watches')
  command('list', 'List the watch lists of a reseller').action(
    list('GET /watch-lists', {
      columns: {
        list: 'name',
        watches: 'watches',
        paused: 'paused',
        ended: 'ended',
        created: 'createdAt',
      },
      none: 'no watch lists yet',
    }),
  )
  command(
    'import <file>',
    'Add and change the watches of a CSV or YAML file',
    'summer.csv ',
    'Importing the same file again changes nothing. Each list of the file is saved whole, or the import ends before it.',
  )
    .option('--skip-invalid', 'skip invalid rows; without it one invalid row stops the import')
    .action(load('watch-lists', 'importFile'))
  const one = command(
    'add <flight>',
    'Watch one flight, or a route as PMI-OSL or, in either direction, PMI=OSL; an import does so for many',
    '153142210230 ',
  )
    .option('--list <list>', 'the watch list', 'watches')
    .option('--reference <reference>', 'the name of the watch; unset: the id of the flight')
    .option('--return <flight>', 'the return flight')
  addTermOptions(one)
  one.action(call('POST /watch-lists/{list}/watches', addedText, added, { createList: true }))
  command('diff <file>', 'Print what an import of the file would change', 'summer.csv ').action(
    load('watch-lists', 'diffFile'),
  )
  command(
    'export',
    'Write watches to standard output, as a file that can be imported again',
    '> all.csv',
  )
    .option('--list <list>', 'export this watch list; unset: all')
    .addOption(
      new Option('--format <format>', 'the file format').choices(['csv', 'yaml']).default('csv'),
    )
    .addOption(new Option('--status <status...>', 'only of these').choices(WATCH_STATUSES))
    .addOption(new Option('--state <state...>', 'only believed to be so').choices(BELIEF_STATES))
    .option('--place <place>', 'only from or to this airport code or city')
    .option('--departs-from <day>', 'only departing on this day or later', dayOption)
    .option('--departs-to <day>', 'only departing on this day or earlier', dayOption)
    .action(load('watch-lists', 'exportLists'))
  const chosen = (name: string, about: string) =>
    command(name, about, '--list summer ')
      .requiredOption('--list <list>', 'the watch list')
      .option('--reference <reference...>', 'only these watches; may be given several times')
  chosen('pause', 'Pause watches').action(changed('POST /watch-lists/{list}/pause', 'paused'))
  chosen('resume', 'Resume paused watches, and ended ones that are named').action(
    changed('POST /watch-lists/{list}/resume', 'resumed'),
  )
  chosen('delete', 'Delete watches for good; without --reference the list with all of them')
    .option(...YES)
    .action(
      call(
        ({ reference }: SelectOptions) =>
          reference === undefined
            ? 'DELETE /watch-lists/{list}'
            : 'POST /watch-lists/{list}/delete',
        (_answer, _terminal, options: SelectOptions) => `${printable(whichOf(options))} deleted`,
        async (options) => {
          await confirmDeletion(`this deletes ${whichOf(options)} for good`, options)
          return { references: options.reference }
        },
      ),
    )
}

function whichOf({ reference, list }: SelectOptions): string {
  if (reference === undefined) return `the list "${list}" and its watches`
  return countOf(reference.length, 'watch', 'watches')
}

type Change = 'POST /watch-lists/{list}/pause' | 'POST /watch-lists/{list}/resume'

const changed = (operation: Change, done: string) =>
  call(
    operation,
    ({ watches }) => `${countOf(watches, 'watch', 'watches')} ${done}`,
    ({ reference }: SelectOptions) => ({ references: reference }),
  )

function added(flight: string, options: AddOptions) {
  const { reference = flight } = options
  const route = pairOf(flight)
  if (route && (options.return !== undefined || hasTerms(options))) {
    throw new UsageError('a watch of a route has neither passengers nor a return flight')
  }
  const question = route ? { route } : questionOfOptions(flight, options.return, options)
  const watch = { reference, ...question }
  return { watches: [watch] }
}

/** Doubts about the watch follow its counts. */
function addedText({
  added: n,
  changed: m,
  unchanged,
  warnings,
}: Answer<'POST /watch-lists/{list}/watches'>): string {
  const doubts = warnings.map(
    ({ pointer, detail }) => `\n  warning: ${pointer} ${printable(detail)}`,
  )
  return `${count(n)} added, ${count(m)} changed, ${count(unchanged)} unchanged${doubts.join('')}`
}
