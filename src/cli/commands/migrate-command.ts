import type { Command } from 'commander'
import { migrateApp, openApp } from '../../app/app.ts'
import { systemClock } from '../../base/clock.ts'
import { embedMissing } from '../../embedded/embed-missing.ts'
import { createContext } from '../context.ts'
import { countOf } from '../text/text-format.ts'

export function addMigrateCommand(program: Command): void {
  program
    .command('migrate')
    .description('bring the database up to this version')
    .option('--json', 'as one JSON object')
    .addHelpText('after', '\nExample:\n  DATABASE_URL=postgres://… farewatch migrate')
    .action(async ({ json }: { json?: boolean }) => {
      const { config, log, terminal } = createContext({ quiet: true })
      const embedded = await embedMissing(config, { log, clock: systemClock, sandbox: false })
      const app = openApp({ config: embedded.config, log, clock: systemClock, role: 'migrate' })
      try {
        const applied = await migrateApp(app)
        if (json === true) return terminal.out(JSON.stringify({ applied }))
        const names = applied.map((name) => `\n  ${name}`).join('')
        terminal.out(`${countOf(applied.length, 'migration')} applied${names}`)
      } finally {
        await app.close()
        await embedded.release()
      }
    })
}
