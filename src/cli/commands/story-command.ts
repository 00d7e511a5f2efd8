import type { Command } from 'commander'
import type { FaultRule } from '../../../sandbox/faults/fault-rule.ts'
import { requireSandbox } from '../../embedded/running-services.ts'
import { systemClock } from '../../platform/base/clock.ts'
import { createContext } from '../context.ts'
import { example, hangingIndent } from '../text/text-format.ts'

interface Scene {
  readonly name: string
  readonly fault: FaultRule & { readonly durationSeconds: number }
  /** What happens, and what shows it. */
  readonly says: readonly string[]
}

/** Each ends by itself: the sandbox forgets a fault after its time. */
const SCENES: readonly Scene[] = [
  {
    name: 'held-list',
    fault: { name: 'half-list', endpoint: 'routes', durationSeconds: 60 },
    says: [
      'The route list has half of its routes for a minute. The next sync, within 20 s, holds it: nothing is applied.',
      'See: bin/farewatch sync review, and the view "Lists" of the page.',
      'After the minute the next list is normal again, and ends the review.',
    ],
  },
  {
    name: 'outage',
    fault: { name: 'status', endpoint: 'verify', durationSeconds: 60, code: 503 },
    says: [
      'Every check of a fare is answered with 503 for a minute. Unknown is not unavailable: no fare is recorded as sold out.',
      'See: bin/farewatch status, whose warnings name the circuit breaker, and the view "Now" of the page.',
      'After the minute a probe finds the upstream well, and checks go on.',
    ],
  },
]

export function addStoryCommand(sandbox: Command): void {
  sandbox
    .command('story')
    .description('Show on the sandbox of a running "up" how a bad list and an outage look')
    .option('--json', 'print one line of JSON per scene')
    .addHelpText(
      'after',
      '\nThe two scenes follow each other and take two minutes. Ctrl-C ends them. The sandbox of "up" shows a sell-out, a\nreopening, another price, other times and routes that come and go by itself, in its first two minutes.',
    )
    .addHelpText('after', example('sandbox story'))
    .action(tellStory)
}

async function tellStory({ json }: { readonly json?: boolean }): Promise<void> {
  const { config, terminal, signal } = createContext()
  const { url } = await requireSandbox(config.FAREWATCH_HOME)
  const faults = `${url}/sandbox/faults`
  for (const { name, fault, says } of SCENES) {
    const headers = { 'content-type': 'application/json' }
    await fetch(faults, { method: 'POST', headers, body: JSON.stringify(fault), signal })
    terminal.print(json, { scene: name, fault }, () => sceneText(name, says, terminal.width))
    try {
      await systemClock.sleep(fault.durationSeconds * 1_000, signal)
    } finally {
      // After an interrupt the fault is still in force.
      if (signal.aborted) await fetch(`${faults}/${fault.name}`, { method: 'DELETE' })
    }
  }
}

function sceneText(name: string, says: readonly string[], width: number): string {
  return [name, ...says.map((line) => hangingIndent('  ', line, width))].join('\n')
}
