import type { Command } from 'commander'
import { type Commands, help, load } from '../describe.ts'

const work = () => import('../work/health.ts')

export const COMMANDS: Commands = { status: addStatus, doctor: addDoctor }

function addStatus(program: Command): void {
  help(program, {
    examples: ['--watch'],
    remark: 'Exits with 1 if an operator must act: if a warning in --json is "bad".',
  })
    .option('--watch', 'repeat every two seconds until Ctrl-C')
    .action(load(work, ({ printStatus }) => printStatus))
}

function addDoctor(program: Command): void {
  help(program, {
    remark: `
Checks the database, the queue, the workers and the state of the work. Changes
nothing and does not call the upstream. WRONG needs action; a warning is worth
knowing. Exits with 1 if something is wrong.`,
  }).action(load(work, ({ diagnose }) => diagnose))
}
