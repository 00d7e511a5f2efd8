import { spawnSync } from 'node:child_process'

/**
 * Whether this machine has Prometheus and promtool. With REQUIRE_PROMETHEUS=1 a missing one is an error, so that CI
 * cannot skip these tests silently.
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

/** Runs promtool. Returns its exit code and its output. */
export function promtool(
  args: readonly string[],
  options: { readonly cwd?: string; readonly input?: string } = {},
): { readonly exit: number | null; readonly output: string } {
  const { status, stdout, stderr } = spawnSync('promtool', args, { ...options, encoding: 'utf8' })
  return { exit: status, output: `${stdout}${stderr}` }
}
