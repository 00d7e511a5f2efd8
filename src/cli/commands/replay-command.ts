import type { Command } from 'commander'
import { type ReplayResult, replayHistory } from '../../routes/replay/replay-history.ts'
import { withApp } from '../context.ts'
import { EXIT } from '../exit-codes.ts'
import { countOf, example } from '../text/text-format.ts'

const EXIT_TEXT = `
Exits with 0 if the two are equal, with 1 if they differ, and with 2 if no
accepted list is kept or another replay runs.`

export function addReplayCommand(program: Command): void {
  program
    .command('replay')
    .description(
      'Rebuild the history of routes from the kept lists, and compare it with the stored one',
    )
    .option('--json', 'print one JSON object')
    .addHelpText('after', EXIT_TEXT)
    .addHelpText('after', example('replay'))
    .action(({ json }: { json?: boolean }) =>
      withApp({ role: 'replay' }, async ({ database, syncDeps }, { terminal, signal }) => {
        const { scrub, confirmations } = syncDeps
        const result = await replayHistory(
          { db: database.db, scrub, confirmations },
          {
            signal,
            onProgress: ({ list, runs }) =>
              terminal.progress(`${list}: ${countOf(runs, 'run')} read`),
          },
        )
        terminal.print(json, result, () => replayText(result))
        return result.equal ? EXIT.ok : EXIT.failed
      }),
    )
}

function replayText({ lists, first, differences }: ReplayResult): string {
  const looked = lists.map(
    ({ list, since, until, runs, compared }) =>
      `${list}: compared from ${since.toISOString()} to ${until.toISOString()}, at ${compared} of ${countOf(runs, 'accepted run')}`,
  )
  if (first === null) return ['the stored history equals the kept lists', ...looked].join('\n')
  const { runId, at, subject, field, replayed, stored } = first
  return [
    `the stored history differs from the kept lists: ${countOf(differences, 'difference')}; the first one:`,
    `${Object.values(subject).join(' → ')}  ${field}  ${runId === null ? 'no run' : `run ${runId}`} at ${at.toISOString()}`,
    `by the lists: ${JSON.stringify(replayed)}, stored: ${JSON.stringify(stored)}`,
    ...looked,
  ].join('\n')
}
