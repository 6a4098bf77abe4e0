"""What an arm must show before it is armed."""
