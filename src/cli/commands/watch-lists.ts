import { type Command, Option } from 'commander'
import { BELIEF_STATES, WATCH_STATUSES } from '../../platform/base/kinds.ts'
import { type Answer, type Call, withApi } from '../api-client.ts'
import { call } from '../api-command.ts'
import { confirmDeletion, YES, type YesOption } from '../confirm.ts'
import { act, add, type Commands, load, type ProgramOptions } from '../describe.ts'
import { dayOption, pairOf } from '../option-parsers.ts'
import { addTermOptions, questionOfOptions, type TermOptions } from '../question-options.ts'
import { createTerminal } from '../terminal.ts'
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

const work = () => import('../work/watch-lists.ts')

export const COMMANDS: Commands = { 'watch-lists': addWatchLists }

function addWatchLists(lists: Command): void {
  const command = (name: string, about: string, args = '', remark = '') =>
    add(lists, name, about, {
      examples: [
        args.startsWith('>') ? `--reseller northwind ${args}` : `${args}--reseller northwind`,
      ],
      remark,
    }).requiredOption('--reseller <name>', 'the owner of the watches')
  command(
    'import <file>',
    'Add and change the watches of a CSV or YAML file',
    'summer.csv ',
    'Importing the same file again changes nothing. The file is read into the database itself, whatever its size.',
  )
    .option('--skip-invalid', 'skip invalid rows; without it one invalid row stops the import')
    .action(load(work, ({ importFile }) => importFile))
  const one = command(
    'add <flight>',
    'Watch one flight, or a route as PMI-OSL or, in either direction, PMI=OSL; an import does so for many',
    '153142210230 ',
  )
    .option('--list <list>', 'the watch list', 'watches')
    .option('--reference <reference>', 'the name of the watch; unset: the id of the flight')
    .option('--return <flight>', 'the return flight')
  addTermOptions(one)
  one.action(call('POST /watch-lists/{list}/watches', added, addedText))
  command('diff <file>', 'Print what an import of the file would change', 'summer.csv ').action(
    load(work, ({ diffFile }) => diffFile),
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
    .action(load(work, ({ exportLists }) => exportLists))
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
    .action(act(remove))
}

const selected = ({ reseller, list, reference }: SelectOptions): Call => ({
  params: { list },
  body: { references: reference },
  reseller,
})

type Change = 'POST /watch-lists/{list}/pause' | 'POST /watch-lists/{list}/resume'

const changed = (operation: Change, done: string) =>
  call(operation, selected, ({ watches }) => `${countOf(watches, 'watch', 'watches')} ${done}`)

async function remove(options: SelectOptions & ProgramOptions): Promise<void> {
  const { reference, list } = options
  const isWhole = reference === undefined
  const which = isWhole ? 'the list with all' : String(reference.length)
  await confirmDeletion(`${which} watches of "${list}" are deleted for good`, options)
  const asked = selected(options)
  const answer = await withApi(options, (api) =>
    isWhole
      ? api.call('DELETE /watch-lists/{list}', { ...asked, body: undefined })
      : api.call('POST /watch-lists/{list}/delete', asked),
  )
  createTerminal(process, options).print(answer, () =>
    isWhole
      ? `list "${printable(list)}" deleted with its watches`
      : `${countOf(reference.length, 'watch', 'watches')} deleted`,
  )
}

function added(flight: string, options: AddOptions): Call {
  const { reseller, list, reference = flight } = options
  const route = pairOf(flight)
  const question = route ? { route } : questionOfOptions(flight, options.return, options)
  const watch = { reference, ...question }
  return { params: { list }, query: { createList: true }, body: { watches: [watch] }, reseller }
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
