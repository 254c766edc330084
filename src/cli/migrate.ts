import { Command } from 'commander'
export const migrateCommand = (): Command => new Command('migrate')
