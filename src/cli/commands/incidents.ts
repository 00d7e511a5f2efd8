import { Argument, type Command } from 'commander'
import { MASS_KINDS } from '../../platform/base/change-kinds.ts'
import { durationText } from '../../platform/base/text.ts'
import type { Answer, Item } from '../api-client.ts'
import { call, list } from '../api-command.ts'
import { add, type Commands } from '../describe.ts'
import { integerOption, limitOption } from '../option-parsers.ts'
import { type Columns, countOf } from '../text/text-format.ts'

const COLUMNS: Columns<Item<'GET /incidents'>> = {
  id: 'id',
  kind: 'kind',
  opened: 'openedAt',
  closed: ({ closedAt }) => closedAt ?? 'OPEN',
  lasted: ({ openedAt, closedAt }) =>
    durationText(new Date(closedAt ?? Date.now()).getTime() - new Date(openedAt).getTime()),
  of: ({ airlines, differences }) => [...airlines, ...differences],
  'recorded before': ({ recordedBefore }) => recordedBefore.map(String),
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
    .option('--open', 'only open ones')
    .addOption(limitOption('incidents'))
    .action(list('GET /incidents', { columns: COLUMNS, none: 'no incidents' }))
  add(group, 'show', 'Show an incident', { examples: ['7'] })
    .addArgument(
      new Argument('<id>', 'the id of the incident').argParser(integerOption(1, 2 ** 50)),
    )
    .action(call('GET /incidents/{incidentId}'))
  add(group, 'close', 'Close an open incident by hand', {
    examples: ['mass_loss'],
    remark: CLOSE_TEXT,
  })
    .addArgument(new Argument('<kind>', 'the kind of the incident').choices(MASS_KINDS))
    .action(call('POST /incidents/close', closedText))
}

function closedText({ kind, askedAgain }: Answer<'POST /incidents/close'>): string {
  const what =
    kind === 'mass_expiry'
      ? 'end now'
      : 'are checked again, and their changes recorded by their usual answers'
  return `${kind} is closed; ${countOf(askedAgain, 'fare')} ${what}`
}
