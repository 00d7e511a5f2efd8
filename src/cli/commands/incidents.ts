import { Argument, type Command } from 'commander'
import { HELD_BY, MASS_KINDS, type MassKind, massOf } from '../../platform/base/change-kinds.ts'
import { durationText } from '../../platform/base/text.ts'
import { type Answer, type Item, withApi } from '../api-client.ts'
import { call, readAll } from '../api-command.ts'
import { act, add, type Commands, type ProgramOptions } from '../describe.ts'
import { integerOption, limitOption } from '../option-parsers.ts'
import { createTerminal } from '../terminal.ts'
import { type Columns, countOf, tableText, timeText, wrapText } from '../text/text-format.ts'

type Incident = Item<'GET /incidents'>
type Held = Answer<'GET /status'>['held'][number]

const COLUMNS: Columns<Incident> = {
  id: ({ id }) => String(id),
  kind: 'kind',
  opened: 'openedAt',
  closed: ({ closedAt }) => closedAt ?? 'OPEN',
  lasted: ({ openedAt, closedAt }) =>
    durationText(new Date(closedAt ?? Date.now()).getTime() - new Date(openedAt).getTime()),
}

const CLOSE_TEXT = `
Close it only if the selling site shows that the changes are true. What began
to wait before now is checked again, and recorded by its usual answers; ends of
mass_expiry come at once. What begins later is held if it makes a mass again.
If the answers are wrong, do nothing: what disappears is forgotten, and what is
still so MASS_HOLD_MINUTES after its first answer is recorded.`

export const COMMANDS: Commands = { incidents: addIncidents }

function addIncidents(group: Command): void {
  add(group, 'list', 'List incidents, newest first')
    .addOption(limitOption('incidents'))
    .action(
      act((options: ProgramOptions & { readonly limit: number }) =>
        withApi(options, async (api) => {
          const { limit } = options
          const incidents = await readAll(api, 'GET /incidents', { query: { limit } })
          const { held } = await api.call('GET /status')
          const terminal = createTerminal(process, options)
          terminal.printRows(incidents, () => incidentsText(incidents, held, terminal.width))
        }),
      ),
    )
  add(group, 'show', 'Show an incident', { examples: ['7'] })
    .addArgument(
      new Argument('<id>', 'the id of the incident').argParser(integerOption(1, 2 ** 50)),
    )
    .action(
      call(
        'GET /incidents/{incidentId}',
        (incidentId: number) => ({ params: { incidentId } }),
        (incident, { width }) => incidentsText([incident], [], width),
      ),
    )
  add(group, 'close', 'Close an open incident by hand', {
    examples: ['mass_loss'],
    remark: CLOSE_TEXT,
  })
    .addArgument(new Argument('<kind>', 'the kind of the incident').choices(MASS_KINDS))
    .action(call('POST /incidents/close', (kind: string) => ({ body: { kind } }), closedText))
}

function closedText({ kind, askedAgain }: Answer<'POST /incidents/close'>): string {
  const what =
    kind === 'mass_expiry'
      ? 'end now'
      : 'are checked again, and their changes recorded by their usual answers'
  return `${kind} is closed; ${countOf(askedAgain, 'fare')} ${what}`
}

/** The table of incidents; while one is open or a change waits also what to do, wrapped to the width. */
export function incidentsText(
  incidents: readonly Incident[],
  held: readonly Held[],
  width: number,
): string {
  if (incidents.length === 0) return 'no incidents'
  const all = tableText(COLUMNS, incidents, width)
  const parts = incidents.map((incident) => wrapText(partText(incident), width).join('\n'))
  const open = incidents.filter(({ closedAt }) => closedAt === null).map(({ kind }) => kind)
  // A change that has begun to wait does so until the end of its hold, also after the mass.
  const waiting = held.flatMap(({ kind }) => MASS_KINDS.filter((mass) => HELD_BY[mass] === kind))
  const advice = [...new Set([...open, ...waiting])].map((kind) => adviceText(kind, held, width))
  return [all, ...parts.filter((text) => text !== ''), ...advice].join('\n\n')
}

/** What an incident is of, if not of its kind as a whole, and what was recorded before it was seen. */
function partText({ id, airlines, differences, recordedBefore }: Incident): string {
  const of = [...airlines.map((airline) => `airline ${airline}`), ...differences]
  const [first, last] = [recordedBefore.at(0), recordedBefore.at(-1)]
  const numbers = first === last ? first : `${first} to ${last}`
  const facts = [
    ...(of.length === 0 ? [] : [`of ${of.join(', ')}`]),
    ...(first === undefined
      ? []
      : [
          `recorded before it was seen: ${countOf(recordedBefore.length, 'record')}, seq ${numbers}`,
        ]),
  ]
  return facts.length === 0 ? '' : `${id}: ${facts.join('; ')}`
}

/** The command has its own line and is not wrapped. */
function adviceText(kind: MassKind, held: readonly Held[], width: number): string {
  const waiting = held.find((one) => one.kind === HELD_BY[kind])
  const sentences = [
    waiting === undefined
      ? `${kind}: no fare waits now.`
      : `${kind}: the change of ${countOf(waiting.fares, 'fare')} waits since ${timeText(waiting.since)}, until ` +
        `${timeText(waiting.until)} at the latest. ` +
        `${countOf(waiting.watches, 'watch', 'watches')} will be notified of what is still so then.`,
    'Compare some of them with the selling site. If the answers are wrong, do nothing: what disappears is forgotten.',
    `If ${massOf(kind).trueIf}, the changes are true, and need not wait:`,
  ]
  const lines = sentences.flatMap((sentence) => wrapText(sentence, width))
  return [...lines, `    bin/farewatch incidents close ${kind}`].join('\n')
}
