import { runbookSections } from '../../grafana/source/runbooks.ts'

/** A command of the part "Check" of a runbook. */
export interface RunbookCommand {
  readonly line: string
  readonly args: readonly string[]
  /** Whether a result is what the runbook calls healthy. Undefined if the runbook names no healthy result. */
  readonly isHealthy?: (result: {
    readonly exit: number | string
    readonly stdout: string
  }) => boolean
}

/** What stands for the words in capitals of a command. */
export interface RunbookWords {
  readonly flightId: string
  readonly fareId: string
  readonly runId: string
}

/** The commands under "Check" in the runbook of an alert. */
export function runbookCommands(alert: string, words: RunbookWords): RunbookCommand[] {
  const { markdown = '' } = runbookSections().find(({ title }) => title === alert) ?? {}
  const [, block = ''] = /```sh\n([\s\S]*?)```/.exec(markdown) ?? []
  return block
    .trim()
    .split('\n')
    .map((line) => {
      const [command = '', comment = ''] = line.split(/\s+# /)
      const filled = command
        .replace('--reseller NAME', '--reseller ana')
        .replace('--flight ID', `--flight ${words.flightId}`)
        .replace('show ID', `show ${words.fareId}`)
        .replace('review RUN', `review ${words.runId}`)
      const found = [...filled.matchAll(/"([^"]*)"|(\S+)/g)].map(
        ([, quoted, bare]) => quoted ?? bare,
      )
      const [, ...args] = found.filter((word) => word !== undefined)
      return { line, args, ...healthOf(comment) }
    })
}

function healthOf(comment: string): Pick<RunbookCommand, 'isHealthy'> {
  const [, healthy] = /^healthy: ([^;]*)/.exec(comment) ?? []
  if (healthy === undefined) return {}
  if (healthy.startsWith('exit code 0')) return { isHealthy: ({ exit }) => exit === 0 }
  const signs = [...healthy.matchAll(/(no )?"([^"]+)"/g)].map(([, no, sign = '']) => ({
    sign,
    isShown: no === undefined,
  }))
  if (signs.length === 0) throw new Error(`the runbook quotes nothing as healthy: ${comment}`)
  return {
    isHealthy: ({ stdout }) => signs.some(({ sign, isShown }) => stdout.includes(sign) === isShown),
  }
}
