"""What disturbs exclusive CPUs: foreign threads, interrupts, siblings, boot parameters."""
