"""What an editor is answered: functions of an open text and a place in it."""
