import { once } from 'node:events'
import type { Command } from 'commander'
import { systemClock } from '../base/clock.ts'
import { startSandbox } from '../sandbox/sandbox-server.ts'
import { createServiceContext } from './context.ts'
import { interruptSignal } from './interrupt.ts'
import { integerOption, numberOption } from './option-parsers.ts'

interface SandboxFlags {
  readonly port: number
  readonly seed: number
  readonly speed: number
  readonly token: string
  readonly routes?: string
}

export function addSandboxCommand(program: Command): void {
  program
    .command('sandbox')
    .description('serve a stand-in for the upstream, from a world that a seed determines')
    .option('--port <port>', 'port on loopback, 0 for any free one', integerOption(0, 65_535), 8090)
    .option('--seed <seed>', 'which world', integerOption(0, 2 ** 31), 1)
    .option('--speed <n>', 'world seconds a second', numberOption(0, 1_000_000), 1)
    .option('--routes <file>', 'serve the Route[] of a JSON file in place of the world’s routes')
    .option('--token <token>', 'the accessToken that verify takes', 'sandbox-token')
    .addHelpText('after', '\nExample:\n  farewatch sandbox --routes routes.json --port 8090')
    .action(async ({ routes, ...flags }: SandboxFlags) => {
      const { log, terminal } = createServiceContext()
      const sandbox = await startSandbox({
        ...flags,
        ...(routes === undefined ? {} : { routesFile: routes }),
        clock: systemClock,
        log,
      })
      terminal.step(`sandbox at ${sandbox.url}, accessToken ${flags.token}; Ctrl-C stops`)
      const signal = interruptSignal()
      if (!signal.aborted) await once(signal, 'abort')
      await sandbox.close()
    })
}
