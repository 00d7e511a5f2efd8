import { AppError, codeOf, messageOf, nameFullDisk } from '../../platform/base/errors.ts'
import { createLogger } from '../../platform/base/logger.ts'
import { createScrub } from '../../platform/base/secrets.ts'
import { ConfigError, loadConfig, secretsOf } from '../../platform/config/config.ts'
import { escapeControls } from '../text/text-format.ts'
import { processFields } from '../version.ts'

const SERVICE_NAMES = new Set(['up', 'worker', 'api'])

/** Reports why a command failed. In the log of a service, where each line is JSON, the failure is one too. */
export function reportFailure(err: unknown, argv: readonly string[]): void {
  const named = nameFullDisk(messageOf(err))
  const isExpected = err instanceof AppError || named !== messageOf(err)
  const [role = '', more] = argv.slice(2)
  if (SERVICE_NAMES.has(role) && more === undefined && process.stderr.isTTY !== true) {
    const destination = process.stderr
    const base = processFields(role)
    const log = createLogger({ level: 'fatal', scrub: scrubbed, destination, base })
    log.fatal(isExpected ? { code: codeOf(err) } : { err }, isExpected ? named : 'internal error')
  } else if (isExpected) writeError(`farewatch: ${named}\n`)
  else writeError(`farewatch: internal error: ${err instanceof Error ? err.stack : err}\n`)
}

/** The logs of a container are read on a terminal too, so the text is escaped in any case. */
export function writeError(text: string): void {
  process.stderr.write(escapeControls(scrubbed(text)))
}

/** The message of a store or of the upstream may quote a secret. */
function scrubbed(text: string): string {
  try {
    return createScrub(secretsOf(loadConfig()))(text)
  } catch (err) {
    if (err instanceof ConfigError) return text
    throw err
  }
}
