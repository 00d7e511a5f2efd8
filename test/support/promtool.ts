import { spawnSync } from 'node:child_process'

/**
 * Whether this machine has Prometheus and promtool. Where they are required (REQUIRE_PROMETHEUS=1) a missing one fails
 * the run: what is skipped unseen proves nothing.
 */
export function hasPrometheus(): boolean {
  const missing = ['promtool', 'prometheus'].filter(
    (name) => spawnSync(name, ['--version']).error !== undefined,
  )
  if (missing.length > 0 && process.env.REQUIRE_PROMETHEUS !== undefined) {
    throw new Error(`${missing.join(' and ')} is required here: install the package prometheus`)
  }
  return missing.length === 0
}

/** Runs promtool, and gives its exit code and all that it printed. */
export function promtool(
  args: readonly string[],
  options: { readonly cwd?: string; readonly input?: string } = {},
): { readonly exit: number | null; readonly output: string } {
  const { status, stdout, stderr } = spawnSync('promtool', args, { ...options, encoding: 'utf8' })
  return { exit: status, output: `${stdout}${stderr}` }
}
